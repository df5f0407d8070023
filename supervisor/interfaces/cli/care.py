"""The commands that show, check, repair and copy a workspace: status, doctor, fsck, restore, backup, … (cli.md)."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from functools import partial
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Annotated, Any, Final

from ...storage.clock import Clock, fixed_clock, utc_now
from ...storage.errors import BadFile, BadRequest, NoWorkspace, SupervisorError
from ...storage.texts import Text
from ...text.foreign_text import printable_line
from ..locate import running_version, version
from ..output import as_text, by_name, in_local_times, wire, word
from .call import Call, typed
from .parser import Argument, Option, command

if TYPE_CHECKING:
    from ...index.view import Inventory
    from ...protocol.backup_file import Contents
    from ...workspace import Workspace

#: The question to the model, and the most characters of its answer that are shown.
_QUESTION: Final = Text("This is a test of the connection. Answer with one word: ready.")
_SHOWN: Final = 80
#: Seconds that a worker may take in addition to its call.
_BESIDE_S: Final = 30.0
#: Seconds between two looks at the clock, which goes on while the machine is suspended.
_LOOK_S: Final = 60.0


@command("status")
def status(
    call: Call,
    everything: Annotated[bool, Option("--all", "every figure, not only five")] = False,
    plan: Annotated[bool, Option("--plan", "what the next run would do, in place of the state")] = False,
) -> int:
    """Show what is wrong, and the state in five figures; 65 when something is wrong."""
    if plan:
        call.answer(call.perform("plan"))
        return 0
    ws, _ = call.opened()
    state = call.perform("status", ask=partial(running_version, str(ws.paths.root)), version=version)
    sentences = (printable_line(call.render(sentence)) for sentence in state.sentences)
    shown = {**state.facts, **({"models": by_name(models)} if (models := state.facts.get("models")) else {})}
    facts = in_local_times(shown, call.zone) if everything else _figures(shown, is_well=state.is_well)
    call.answer(state.facts, [*sentences, "", as_text(facts, call.renderer())])
    return 0 if state.is_well else BadFile.exit_code


def _figures(facts: Mapping[str, Any], *, is_well: bool) -> dict[str, object]:
    # where nothing is wrong, the first line says whether one runs
    return ({} if is_well else {"supervisor": facts["supervisor"]}) | {
        "recentMessages": facts["history"]["messages"],
        "unwritten": facts["unwritten"],
        "datedFiles": facts["datedFiles"],
        "covered": facts["covered"],
        "modelCallsToday": facts["today"]["calls"],
    }


@command("fsck")
def fsck(
    call: Call,
    repair: Annotated[bool, Option("--repair", "mend what can be mended; no byte goes without a copy")] = False,
    accept: Annotated[Path | None, Option("--accept", "a dated file whose missing messages you no longer want")] = None,
    report: Annotated[bool, Option("--report", "report what is wrong to status, log, care.on_trouble")] = False,
) -> int:
    """Account for every message; 65 when one is lost or a file is damaged."""
    from ...checks.check import Look
    from ...checks.table import account, report_faults
    from ...protocol.config import check_made

    if report:
        check_made(call.root())
    ws, at = call.opened()
    mended: dict[str, object] = {}
    if accept:
        mended["accepted"] = call.perform("accept", file=accept)
    if repair:
        mended["repaired"] = wire(asdict(call.perform("repair")))
    wrong: list[str] = []
    if report:
        ledger, wrong = report_faults(ws, at if call.moment() else await_quiet_end(ws, utc_now, sleep), call.renderer())
    else:
        ledger = account(Look(ws, at))
    for sentence in wrong:
        call.say(sentence, BadFile.exit_code)
    call.answer(wire(asdict(ledger)) | mended)
    return BadFile.exit_code if wrong or not ledger.is_well else 0


def await_quiet_end(ws: Workspace, clock: Clock, pause: Callable[[float], None]) -> datetime:
    """Wait until the present hour is not one of `care.quiet_hours`, and return the present."""
    from ...host.round import quiet_until

    while end := quiet_until(ws, clock()):
        pause(max(0.0, min((end - clock()).total_seconds(), _LOOK_S)))
    return clock()


@command("doctor")
def doctor(
    call: Call,
    verbose: Annotated[bool, Option("--verbose", "what is good, too")] = False,
) -> int:
    """Check the workspace and the machine, and change nothing; 65 when something is bad."""
    from ...checks.check import Look
    from ...checks.table import examine, opened_anyway
    from ...protocol.config import check_folder

    root = call.root()
    check_folder(root)
    at = call.moment() or utc_now()
    ws, refused = opened_anyway(root, os.environ, at)
    if not refused:
        call.workspace = ws  # its language is that of the output, and a wrong configuration may have one
    findings = examine(Look(ws, at, partial(running_version, str(root)), version, slow=True), refused)
    count = {state: sum(finding.state == state for finding in findings) for state in ("good", "odd", "bad")}
    render = call.renderer()
    rows = (
        f"{render(word(finding.state))}  {render(word(finding.check))}  {printable_line(render(finding.why))}".rstrip()
        for finding in findings
        if verbose or finding.state != "good"
    )
    total = Text("{count} checks, all well.", count=count["good"])
    if count["odd"] or count["bad"]:
        total = Text("{count} checks: {bad} bad, {odd} odd.", count=len(findings), bad=count["bad"], odd=count["odd"])
    call.answer({**count, "checks": [*map(asdict, findings)]}, [*rows, total])
    return BadFile.exit_code if count["bad"] else 0


@command("restore")
def restore(call: Call) -> int:
    """
    Restore a damaged or lost history.json.

    Ends with 65 while something could not be read. `recalld backup restore` restores a backup of the whole
    workspace.
    """
    from ...checks.memory import why_unread

    done = call.perform("restore")
    call.answer(asdict(done), {"restored": done.restored})
    for piece in done.unread:
        call.say(why_unread(piece), BadFile.exit_code)
    return BadFile.exit_code if done.unread else 0


@command("index status")
def index_status(call: Call) -> None:
    """Show what the index holds, and whether it is up to date."""
    from ...recall.meaning import vectors_made

    ws, inventory = call.opened()[0], call.perform("index_status")
    vectors = vectors_made(ws.config, ws.files, ws.paths)
    call.answer({**_held(inventory), "vectors": vectors, "differing": inventory.differing})


@command("index rebuild")
def index_rebuild(call: Call) -> int:
    """Rebuild the index from the files, and compute the missing vectors; 69 if their server does not answer."""
    from ...host.jobs import make_vectors

    # it reads all, and programs know the keys
    changes = {"read": 0, "moved": 0, "gone": 0, **asdict(call.perform("index_rebuild"))}
    ws, _ = call.opened()
    _, fault = make_vectors(ws, utc_now)
    held = _held(ws.index.inventory())
    call.answer({**changes, **held}, {**held, **{name: changes[name] for name in ("shared", "unread") if changes[name]}})
    return call.say(Text("no vectors were made: {why}.", why=fault), 69) if fault else 0


def _held(inventory: Inventory) -> dict[str, int]:
    return {"files": inventory.files, "units": inventory.units, "bytes": inventory.size_bytes}


@command("model test")
def model_test(call: Call) -> int:
    """Ask the model once, show its answer, and end its pause if it answers; 69 if it does not."""
    from ...host.workers import ask_worker
    from ...protocol.task import AskedTask
    from ...summaries.llm_state import end_pause

    ws, _ = call.opened()
    ws.files.make_folder(ws.paths.state)
    # only a worker asks models, so its error here is the one that a summary would meet
    task = AskedTask(id="model-test", kind="model-test", prompt=call.render(_QUESTION))
    wait_s = ws.config.llm.timeout.total_seconds()
    if not ws.extracting:
        call.say(Text("the model is asked; its answer may take up to {seconds} s (llm.timeout).", seconds=f"{wait_s:g}"))
    result = ask_worker(ws.paths.root, task, wait_s + _BESIDE_S, os.environ, call.language)
    if isinstance(result, tuple):
        return call.say(*result)
    is_answer = result.status == "done"
    outcome = {"answer": result.text} if is_answer else {"error": result.error}
    fields = {"model": result.model, "seconds": f"{result.duration_ms / 1000:.1f}", **outcome}
    if not is_answer:
        if call.json:
            call.answer(fields)
        return call.say(Text("no answer came: {why}.", why=result.error), 69)
    shown = {**fields, "answer": " ".join(result.text.split())[:_SHOWN]}
    sentences = [Text("{model} answered after {seconds} s: {answer}", **shown)]
    if end_pause(ws.model_use):
        sentences.append(Text("its pause is over; a running supervisor asks it for summaries again."))
    call.answer(fields, sentences)
    return 0


# ── backups ──────────────────────────────────────────────────────────────────

File = Annotated[Path, Argument("a backup, such as memory-2026-01-28.tar")]


@command("backup create")
def backup_create(call: Call, file: File) -> None:
    """Write a consistent state of the workspace into a new file, while everything runs."""
    from ...checks.backup import create
    from ...host.last_night import remember_backup

    _leave_nothing_when_ended()
    ws, at = call.opened()
    backup = create(ws, _absolute(file), at, version())
    with suppress(SupervisorError, OSError):  # a folder that can only be read is backed up, too
        remember_backup(ws, backup.file, at)
    fields = {**_described(backup.file, backup.contents), "leftOut": list(backup.left_out)}
    call.answer({**fields, "lockedMs": backup.locked_ms}, fields)


@command("backup nightly")
def backup_nightly(
    call: Call,
    folder: Annotated[Path, Argument("a folder of this workspace's own, best on another disk")],
    keep: Annotated[int, Option("--keep", "how many are kept; the older ones are deleted", least=1)],
) -> None:
    """Write the backup of the day into the folder, read it back, and delete the oldest; a timer of systemd runs it."""
    from ...checks.backup import nightly_backup
    from ...protocol.config import check_made

    _leave_nothing_when_ended()
    check_made(call.root())
    ws, at = call.opened()
    at = at if call.moment() else await_quiet_end(ws, utc_now, sleep)
    file, contents, deleted = nightly_backup(ws, _absolute(folder), keep, at, version())
    call.answer({**_described(file, contents), "deleted": list(map(str, deleted))})


@command("backup verify", common=("now", "json"))
def backup_verify(call: Call, file: File) -> int:
    """Unpack the file into a temporary folder and run fsck there; 65 when it is not as it was made, or fsck finds damage."""
    from ...checks.backup import verify

    _leave_nothing_when_ended()
    at = call.moment()
    contents, ledger, call.workspace = verify(_absolute(file), os.environ, fixed_clock(at) if at else utc_now)
    call.answer({**_described(_absolute(file), contents), "fsck": wire(asdict(ledger))})
    return 0 if ledger.is_sound else BadFile.exit_code


@command("backup restore", common=("json",))
def backup_restore(
    call: Call,
    file: File,
    into: Annotated[Path, Option("--into", "a new or empty folder, which becomes a workspace")],
) -> None:
    """Unpack the file into a new or empty folder."""
    from ...checks.backup import restore

    _leave_nothing_when_ended()
    known: list[bool] = []
    contents = restore(_absolute(file), _absolute(into), lambda folder: known.append(_forget_in(call, folder)))
    with suppress(SupervisorError):  # the times are in its zone
        call.opened(_absolute(into))
    call.answer({"workspace": str(_absolute(into)), **_described(_absolute(file), contents)})
    if not all(known):
        call.say(
            Text(
                "the memory is as it was on {time}; anything that was forgotten after that is in it again. `recalld -w {into} forget --help` says how to forget it again; or, where you still have the workspace that forgot it, restore once more with `-w` and that one.",
                time=in_local_times(contents.created_at, call.zone),
                into=typed(_absolute(into)),
            )
        )


def _forget_in(call: Call, folder: Path) -> bool:
    """Take out of a restored folder what was forgotten in the workspace of this command; return whether that knows it."""
    from ...forgetting.sweep import forget_in
    from ...storage.disk import RealDisk
    from ...storage.files import Files

    with suppress(BadRequest, NoWorkspace):  # a new machine has none
        return forget_in(folder, call.root(), Files(RealDisk()), os.environ, utc_now)
    return False


def _leave_nothing_when_ended() -> None:
    """Let systemd, or a terminal that is closed, interrupt the command, so that it deletes unfinished files; `nohup` stays."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)


def _described(file: Path, contents: Contents) -> dict[str, Any]:
    return {
        "backup": str(file),
        "createdAt": contents.created_at,
        "madeBy": contents.made_by,
        "files": len(contents.files),
        "bytes": contents.size_bytes,
    }


def _absolute(path: Path) -> Path:
    return path.expanduser().absolute()
