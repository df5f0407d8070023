"""The command line as processes: exit codes, output and errors, in any locale, into any kind of output."""

import json
import os
import re

import pytest

from recalld.supervisor.interfaces.output import as_json, as_line
from recalld.supervisor.text.foreign_text import printable
from tests.process.command import Command, Ended, ended
from tests.process.conftest import NOW

pytestmark = pytest.mark.proof

C_LOCALE = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


# ── what is stored, on a terminal ────────────────────────────────────────────

#: It writes the clipboard, clears the screen with one character of C1, and turns what follows around.
STEERING = "\x1b]52;c;cm0gLXJmIH4=\x07 \x9b2J \u202egnp.exe \ud83d"


def test_events_print_nothing_that_steers_a_terminal():
    event = {"ts": "2026-01-31T08:00:00.000Z", "event": "degraded", "why": f"花生 {STEERING} \x7f"}
    assert printable(as_line(event)) == as_line(event)
    assert printable(as_json(event)) == as_json(event)
    assert json.loads(as_json(event)) == event


def test_commands_print_nothing_that_steers_a_terminal(recalld: Command):
    recalld.environ["RECALLD_NOW"] = NOW
    said = {"id": f"m1{STEERING}", "role": "user", "text": f"我对花生过敏 {STEERING}", "session": f"web{STEERING}"}
    assert recalld("append", "--jsonl", stdin=json.dumps(said)).code == 0
    assert recalld("run", "--until-settled", "--no-worker").code == 0
    note = recalld.root / "memory" / "2026-01-30-\x1b[2J.md"
    note.write_bytes(f"- 花生酱 {STEERING}\n".encode("utf-8", "replace"))
    dated = next(recalld.root.glob("memory/2026-01-31-*.md"))
    for command in (
        ("inject", "--query", f"花生 {STEERING}".encode("utf-8", "replace").decode()),
        ("context", "--query", "花生", "--text", "--system", "\x1b[2J"),
        ("search", "花生"),
        ("get", f"memory/{note.name}"),
        ("get", f"memory/{dated.name}"),
        ("get", "memory/\x1b[2J.md"),
        ("why",),
        ("status",),
        ("status", "--plan"),
        ("fsck",),
    ):
        for more in ((), ("--json",)):
            done = recalld(*command, *more)
            assert (done.out + done.err).strip(), command
            assert printable(done.out + done.err) == done.out + done.err, command
            assert "Traceback" not in done.err, command
    assert json.loads(recalld("get", f"memory/{note.name}", "--json").out)["text"] in note.read_text("utf-8")


# ── --json ───────────────────────────────────────────────────────────────────


def test_questions_say_how_far_the_index_is_until_it_is_whole(recalld):
    told, asked_in = r"the index is being made and lacks \d+ days", {"RECALLD_RECALL_TIMEOUT_MS": "10"}
    for part in range(50):
        lines = (f"- 第 {n} 章讲电钢琴\n" for n in range(part * 100, (part + 1) * 100))
        (recalld.root / f"memory/小说-{part}.md").write_text("".join(lines), encoding="utf-8")
    for words in (["search", "电钢琴"], ["inject", "--query", "电钢琴"], ["context", "--query", "电钢琴"]):
        asked = recalld(*words, **asked_in)
        assert (asked.code, asked.err.count("\n")) == (0, 1)
        assert re.search(told, asked.err)
    assert re.search(told, json.loads(recalld("inject", "--query", "电钢琴", "--json", **asked_in).out)["unsearched"])
    assert recalld("run", "--until-settled", "--no-worker").code == 0
    assert recalld("search", "4999").err == ""
    assert json.loads(recalld("index", "status", "--json").out)["units"] == 5000


# ── arguments, clock, output ─────────────────────────────────────────────────


def test_cli_exits_0_when_the_reader_of_the_pipe_is_gone(talked):
    def unread(*words: str, **environ: str) -> Ended:
        reader, writer = os.pipe()
        os.close(reader)
        try:
            return ended(talked.start("-w", str(talked.root), *words, stdout=writer, **environ))
        finally:
            os.close(writer)

    ways = [["get", "memory/长长的笔记.md"], ["status"], ["search", "花生过敏"]]
    alone = [unread(*words) for words in ways]
    unbuffered = [unread(*ways[0], PYTHONUNBUFFERED="1")]
    with talked.supervised():
        served = [unread(*words) for words in ways]

    assert alone + unbuffered + served == [Ended(0, "", "")] * 7


def test_cli_reads_and_prints_chinese_in_a_c_locale(talked):
    alone = [talked("search", "花生过敏", **C_LOCALE), talked("get", "memory/长长的笔记.md", "--lines", "1", **C_LOCALE)]
    with talked.supervised():
        served = [talked("search", "花生过敏", **C_LOCALE), talked("get", "memory/长长的笔记.md", "--lines", "1", **C_LOCALE)]

    assert "我对花生过敏" in alone[0].out
    assert alone[1] == Ended(0, "我喜欢 tuna。\n", "")
    assert served == alone


@pytest.mark.parametrize("kilobytes", [200_000, 400_000])
def test_inject_answers_where_memory_is_limited(recalld, kilobytes):
    """The index's library would end the process; memory is searched without it, which the log tells."""
    (recalld.root / "memory/家.md").write_text("我对花生过敏，点外卖要备注。\n", encoding="utf-8")
    limited = ("bash", "-c", f'ulimit -v {kilobytes} && exec "$@"', "bash")
    for _ in range(2):
        done = ended(recalld.start("inject", "-w", str(recalld.root), "--query", "花生过敏", before=limited))
        assert (done.code, done.err) == (0, "")
        assert "点外卖要备注" in done.out
    told = [json.loads(line) for line in (recalld.root / "log.jsonl").read_text().splitlines()]
    assert {(one["event"], one["why"].partition(" for ")[0]) for one in told} == {
        ("degraded", "ulimit -v: it leaves too little memory")
    }
    done = ended(recalld.start("index", "rebuild", "-w", str(recalld.root), before=limited))
    assert (done.code, done.err.count("\n")) == (78, 1)
    assert "ulimit -v: it leaves too little memory for" in done.err


# ── the service ──────────────────────────────────────────────────────────────


@pytest.mark.skipif(os.path.isdir("/run/systemd/system"), reason="systemd runs here")
@pytest.mark.parametrize("words", ["install", "uninstall", "status", "install --system root"])
def test_service_without_systemd_is_one_sentence_and_changes_nothing(recalld, words, tmp_path):
    before = sorted(tmp_path.rglob("*"))
    done = recalld("service", *words.split(), HOME=str(tmp_path), XDG_CONFIG_HOME=str(tmp_path / "config"))
    assert (done.code, done.out, done.err.count("\n")) == (69, "", 1)
    assert sorted(tmp_path.rglob("*")) == before


def test_run_tells_the_journal_the_priority_of_each_event(recalld, tmp_path):
    with (tmp_path / "journal").open("w") as journal:
        found = os.fstat(journal.fileno())
        with recalld.supervised(stdout=journal, stderr=journal, JOURNAL_STREAM=f"{found.st_dev}:{found.st_ino}"):
            recalld("append", "--role", "user", "--text", "我对花生过敏")
        wrong = recalld.start(
            "-w",
            str(recalld.root),
            "run",
            stdout=journal,
            stderr=journal,
            RECALLD_RECALL_MAX_HITS="x",
            JOURNAL_STREAM=f"{found.st_dev}:{found.st_ino}",
        )
        assert ended(wrong).code == 78
    lines = (tmp_path / "journal").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "<6>started"
    assert {line[:3] for line in lines[:-1]} == {"<6>"}
    assert lines[-1].startswith("<3>recalld: RECALLD_RECALL_MAX_HITS")
    assert "花生" not in "".join(lines)
