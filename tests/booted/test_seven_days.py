"""
Seven days of an ordinary user in a booted machine, and what they cost: script/test-systemd.

They talk to their assistant three times a day, in two languages; a scripted model on the machine's loopback writes summaries; each
night the services of the timers are started by hand. RECALLD_NOW is the clock of all that the user's service manager starts, the
machine's own is left alone. On the third day the power is cut in the middle of a talk, on the fifth the disk is full for a while.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import subprocess
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.booted.disk import SmallDisk
from tests.booted.machine import PID, Machine, Person
from tests.llm.server import Act, Server
from tests.powercut.rig import Refused
from tests.process.command import until
from tests.simulation.model import ScriptedModel
from tests.story.test_a_month_of_talk import TALK

pytestmark = [
    pytest.mark.booted,
    pytest.mark.skipif(not PID, reason="needs a machine: script/test-systemd"),
    pytest.mark.timeout(900),
]
ROOT = Path(__file__).resolve().parents[2]
MONDAY = datetime(2026, 11, 2, tzinfo=ZoneInfo("Asia/Shanghai"))  # the sample conversation ends on 28 October
TALKS = (9, 13, 20)  # hours
EXCHANGES = 10
_DISK = 48 << 20


class Week:
    """The user, their disk, the model's server, and an account of what was acknowledged and what it cost."""

    def __init__(self, me: Person, disk: SmallDisk, server: Server) -> None:
        self.me, self.disk, self.server = me, disk, server
        self.unit = me.unit("recalld.service")
        self.now = MONDAY
        self.backups = f"/home/{me.name}/backups"
        self.acknowledged: dict[str, str] = {}
        self.filled = 0  # bytes that filled the disk
        self.starts = 0
        self.processor_s: Counter[str] = Counter()
        self.peak_mb: Counter[str] = Counter()
        self._model = ScriptedModel(random.Random(7), lambda: None, lambda: None)
        server.script = self._answer

    def _answer(self, _number: int, prompt: str) -> Act:
        return Act(self._model.complete(prompt, max_tokens=0, calling=lambda: None, cancelled=lambda: False).text)

    def begin(self, before: list[dict[str, Any]]) -> None:
        """Install the service on Monday morning, with what was said before that week."""
        self._turn_clock(MONDAY + timedelta(hours=8))
        self.me.ok("init")
        self.me.write(f"{self.me.root}/history.json", json.dumps(before, ensure_ascii=False))
        llm = f'[summarize]\nleast = 0\n[llm]\nbase_url = "{self.server.url}"\nmodel = "qwen-test"\n[archive]\ntimezone = "Asia/Shanghai"\n'
        self.me.write(f"{self.me.root}/recalld.toml", llm)
        self.me.run("mkdir", self.backups)
        self.me.ok("service", "install", "--backup-to", self.backups)

    def it_is(self, now: datetime) -> None:
        """Turn the clock on, and start recalld again to have it."""
        self.spent("recalld.service")
        self.starts += 1
        # a week of restarts in some minutes is no failure
        self._turn_clock(now, "systemctl --user reset-failed recalld; systemctl --user restart recalld")

    def _turn_clock(self, now: datetime, then: str = "") -> None:
        """Let all that the user's service manager starts from now on have this time, also after the manager was started again."""
        self.now, folder = now, "~/.config/environment.d"
        turn = f"mkdir -p {folder}; echo RECALLD_NOW=$0 >{folder}/now.conf; systemctl --user set-environment RECALLD_NOW=$0; {then}"
        assert self.me.run("sh", "-c", turn, now.isoformat()).code == 0

    def say(self, day: int, hour: int, exchanges: int = EXCHANGES) -> None:
        """Talk at that hour, which turns the clock on to some minutes after it."""
        start = MONDAY + timedelta(days=day, hours=hour)
        self.it_is(start + timedelta(minutes=exchanges + 15))
        texts = [text for n in range(exchanges) for text in TALK[(day + n) % len(TALK)]]
        lines = [
            {
                "role": "assistant" if n % 2 else "user",
                "text": f"{text} ({day + 1}, {hour}:00, {n})",
                "createdAt": (start + timedelta(seconds=30 * n)).isoformat(),
            }
            for n, text in enumerate(texts)
        ]
        ids = self.me.ok("append", "--jsonl", stdin="\n".join(map(json.dumps, lines))).split()
        self.acknowledged |= dict(zip(ids, (line["text"] for line in lines), strict=True))
        assert "## Memory" in self.me.ok("inject", "--query", "对花生过敏的是谁？")

    def sleep(self, day: int) -> None:
        """Have the night after that day: summaries, the check, a backup that is tried."""
        now = MONDAY + timedelta(days=day + 1, hours=3, minutes=25)
        self.it_is(now)
        until(lambda: self._is_settled(now), most_s=240)
        for name in ("recalld-fsck.service", "recalld-backup.service"):
            assert self.me.unit(name).systemctl("start").code == 0, self.me.machine.journal("--lines=40")
            self.spent(name)
        newest = self.me.run("sh", "-c", 'ls -t "$0"/* | head -1', self.backups).out.strip()
        self.me.ok("backup", "verify", newest)

    def _is_settled(self, now: datetime) -> bool:
        self.look_at_memory()
        soon = now + timedelta(minutes=5)  # before what failed is tried again
        planned = json.loads(self.me.ok("status", "--plan", "--json", "--now", soon.isoformat()))
        due = [one for one in planned["summaries"] if not one["waitsUntil"]]
        return not due and not planned["dated"] and not any(self.me.json("status")["queue"].values())

    def spent(self, name: str) -> None:
        """Add what the unit has used since it was started."""
        self.look_at_memory()
        used = self.me.unit(name).show("CPUUsageNSec")
        self.processor_s[name] += int(used) / 1e9 if used.isdigit() else 0

    def look_at_memory(self) -> None:
        """Note the peaks of the processes of the service that run now."""
        for status in Path("/proc").glob("[0-9]*/status"):
            with contextlib.suppress(OSError):
                if f"/{self.unit.name}" in (status.parent / "cgroup").read_text() and self._is_of_machine(status.parent):
                    name = "supervisor" if (status.parent / "cmdline").read_bytes().endswith(b"\0run\0") else "worker"
                    peak = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
                    self.peak_mb[name] = max(self.peak_mb[name], int(peak[1]) // 1000 if peak else 0)

    def _is_of_machine(self, process: Path) -> bool:
        return os.readlink(process / "ns/pid") == os.readlink(f"/proc/{self.me.machine.pid}/ns/pid")

    # ── the accidents ────────────────────────────────────────────────────────

    def power_cut(self) -> None:
        """Talk a message at a time until the power fails."""
        loop = 'n=0; while recalld -w "$0" append --role user --at "$1" --text "停电之前的第 $((n += 1)) 句"; do :; done'
        command = self.me.machine.command(*self.me.session(), "sh", "-c", loop, self.me.root, self.now.isoformat())
        talking = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="ascii")
        assert talking.stdout
        ids = [talking.stdout.readline() for _ in range(10)]
        self.disk.pull_the_plug()
        ids += talking.communicate(timeout=60)[0].splitlines()
        self.acknowledged |= {one.strip(): f"停电之前的第 {n} 句" for n, one in enumerate(ids, 1)}
        self.unit.becomes("active")

    def full_disk(self) -> int:
        """Fill the disk, talk, and free it; return how many messages were refused."""
        before = self.disk.written
        self.me.run("sh", "-c", 'dd if=/dev/zero of="$0/full" bs=64k; dd if=/dev/zero of="$0/full too" bs=512', self.me.root)
        refused = 0
        for n in range(6):
            text = f"Sentence {n} on a full disk."
            done = self.me.recalld("append", "--role", "user", "--at", self.now.isoformat(), "--text", text)
            if done.code == 0:
                self.acknowledged[done.out.strip()] = text
            else:
                assert done.code == 74, done
                refused += 1
        self.me.run("rm", f"{self.me.root}/full", f"{self.me.root}/full too")
        self.filled = self.disk.written - before
        return refused


@pytest.fixture
def week(tmp_path):
    machine = Machine(PID)
    with contextlib.ExitStack() as stack:
        try:
            disk = SmallDisk(tmp_path, me := machine.person(), _DISK)
        except Refused as why:
            pytest.skip(f"no disk of its own: {why}")
        stack.callback(disk.close)
        with machine.network():
            server = Server()
        yield Week(me, disk, stack.enter_context(server))
        me.unit("recalld.service").systemctl("stop")


def test_week_of_an_ordinary_user_loses_nothing(week, capsys):
    me = week.me
    before = json.loads((ROOT / "workspace/history.json").read_text(encoding="utf-8"))
    written = week.disk.written
    week.begin(before)
    refused = 0
    for day in range(7):
        for hour in TALKS:
            week.say(day, hour)
        if day == 2:
            week.power_cut()
        if day == 4:
            refused = week.full_disk()
        week.sleep(day)
    ledger, status = me.json("fsck"), me.json("status")
    week.spent("recalld.service")
    of_user = f"_UID={me.machine.do('id', '-u', me.name).strip()}"
    said, own = me.machine.journal(of_user), me.machine.journal(of_user, "--identifier=recalld")
    figures = {
        "messages": f"{len(before)} before, {len(week.acknowledged)} in the week, {refused} refused by the full disk",
        "starts": week.starts,
        "processor, s": {name: round(spent, 1) for name, spent in week.processor_s.items()},
        "peak memory, MB": dict(week.peak_mb),
        "written to the disk, MB": round((week.disk.written - written - week.filled) / 1e6, 1),
        "calls to the model": f"{week.server.seen.calls}, {week.server.seen.tokens} tokens",
        "journal": f"{len(own.splitlines())} lines, {len(own.encode())} bytes",
        "workspace, bytes": me.run("du", "--bytes", "--summarize", me.root).out.split()[0],
    }
    with capsys.disabled():
        print("", *(f"{name}: {figure}" for name, figure in figures.items()), sep="\n")
    assert refused > 0, "the disk was not full"
    assert (ledger["lost"], ledger["damage"]) == ([], [])
    texts = "".join(path.read_text(encoding="utf-8") for path in week.disk.point.glob("memory/**/2026-*.md"))
    assert [one for one, text in week.acknowledged.items() if one not in texts or text not in texts] == []
    # what the full disk refused may be there all the same: it was not promised
    assert 0 <= ledger["seen"] - len(before) - len(week.acknowledged) <= refused
    assert "Traceback" not in said
    assert [text for text in week.acknowledged.values() if text in said] == []
    assert len(me.run("ls", week.backups).out.splitlines()) == 7
    # what the scripted model says of the sample is mostly refused: the day has its extract then
    assert status["models"]["qwen-test"]["answersAccepted"] > 0
    assert week.unit.show("NRestarts") == "0"
