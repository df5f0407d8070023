"""The commands that show, check and repair a workspace: status, doctor, fsck, restore, … (docs/reference/cli.md)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from ...storage.clock import utc_now
from ...storage.errors import BadFile
from ...storage.texts import Text
from ...text.foreign_text import printable_line
from .call import Call
from .output import Word, as_text, by_name, in_local_times, wire, word
from .parser import Option, command

if TYPE_CHECKING:
    from ...index.manifest import Inventory

#: The question to the model, and the most characters of its answer that are shown.
_QUESTION: Final = "This is a test of the connection. Answer with one word: ready."
_SHOWN: Final = 80
#: Seconds that a worker may take in addition to its call.
_BESIDE_S: Final = 30.0


@command("status")
def status(
    call: Call,
    everything: Annotated[bool, Option("--all", "every figure, not only five")] = False,
    plan: Annotated[bool, Option("--plan", "what the next run would do, in place of the state")] = False,
) -> int:
    """Show what is wrong, and the state in five figures; 65 when something is wrong."""
    from ...operations import upkeep

    if plan:
        call.answer(call.perform(upkeep.plan))
        return 0
    ws, _ = call.opened_made()
    ask, version = supervisor_of(ws.paths.root, call)
    state = call.perform(upkeep.status, upkeep.StatusRequest(ask=ask, version=version))
    sentences = (printable_line(call.render(sentence)) for sentence in state.sentences)
    shown = {**state.facts, **({"models": by_name(models)} if (models := state.facts.get("models")) else {})}
    facts = in_local_times(shown, call.zone) if everything else _figures(shown)
    call.answer(state.facts, [*sentences, "", as_text(facts, call.renderer())])
    return 0 if state.is_well else BadFile.exit_code


def _figures(facts: Mapping[str, Any]) -> dict[str, object]:
    return {
        "recentMessages": facts["history"]["messages"],
        "unwritten": facts["unwritten"],
        "datedFiles": facts["datedFiles"],
        "covered": facts["covered"],
        "modelCallsToday": facts["today"]["calls"],
    }


def supervisor_of(root: Path, call: Call) -> tuple[Callable[[], str | None], Callable[[], str]]:
    """Return two functions: one asks the supervisor of the workspace for its version, one returns the installed version."""
    from ..locate import version

    def ask() -> str | None:
        from ..socket_server import running_version

        if call.is_mute:
            raise TimeoutError  # this command has asked before, and has waited long enough
        return running_version(str(root))

    return ask, version


@command("fsck")
def fsck(
    call: Call,
    repair: Annotated[bool, Option("--repair", "mend what can be mended; no byte goes without a copy")] = False,
    accept: Annotated[Path | None, Option("--accept", "a dated file whose missing messages you no longer want")] = None,
    accept_times: Annotated[
        bool, Option("--accept-times", "messages whose time can't be read belong to the day they came")
    ] = False,
    report: Annotated[bool, Option("--report", "report what is wrong to status, log, care.on_trouble")] = False,
) -> int:
    """Account for every message; 65 when one is lost or a file is damaged."""
    from time import sleep

    from ...checks import nightly
    from ...checks.check import Look
    from ...checks.table import account
    from ...operations import upkeep
    from ...protocol.config import check_made

    if report:
        check_made(call.root())
    ws, at = call.opened()
    mended: dict[str, object] = {}
    if accept:
        mended["accepted"] = call.perform(upkeep.accept, upkeep.AcceptRequest(file=accept))
    if accept_times:
        mended["acceptedTimes"] = call.perform(upkeep.accept_times)
    if repair:
        mended["repaired"] = wire(asdict(call.perform(upkeep.repair)))
    wrong: list[str] = []
    if report:
        if call.moment() is None:
            nightly.await_quiet_end(ws, utc_now, sleep)
            at = utc_now()
        ledger, wrong = nightly.report(ws, at, call.renderer())
    else:
        ledger = account(Look(ws, at, os.environ))
    for sentence in wrong:
        call.say(sentence, BadFile.exit_code)
    if call.json or not report:
        call.answer(wire(asdict(ledger)) | mended)
    elif not wrong:
        call.tell(Text("every message is accounted for ({count}), and nothing is wrong.", count=ledger.seen))
    return BadFile.exit_code if wrong or not ledger.is_well else 0


@command("doctor")
def doctor(
    call: Call,
    verbose: Annotated[bool, Option("--verbose", "what is good, too")] = False,
    broker: Annotated[bool, Option("--broker", "check the pool of workers alone")] = False,
) -> int:
    """Check the workspace and the machine, and change nothing; 65 when something is bad."""
    from ...checks.check import Look
    from ...checks.table import examine, opened_anyway
    from ...protocol.config import check_folder

    root = call.root()
    check_folder(root)
    if broker:
        from .pool import show_pool

        return 0 if show_pool(call) else BadFile.exit_code
    at = call.moment() or utc_now()
    ws, refused = opened_anyway(root, os.environ, at)
    if not refused:
        call.workspace = ws  # its language is that of the output, and a wrong configuration may have one
    findings = examine(Look(ws, at, os.environ, *supervisor_of(root, call)), refused)
    count = {state: sum(finding.state == state for finding in findings) for state in ("good", "odd", "bad")}
    render = call.renderer()
    shown = [finding for finding in findings if verbose or finding.state != "good"]
    rows = (
        f"{render(word(finding.state))}  {render(word(finding.check))}  {printable_line(render(finding.why))}"
        for finding in shown
    )
    total = Text("{count} checks, all well.", count=count["good"])
    if count["odd"] or count["bad"]:
        total = Text("{count} checks: {bad} bad, {odd} odd.", count=len(findings), bad=count["bad"], odd=count["odd"])
    rows_of_json = [{**asdict(finding), "mend": finding.mend} for finding in findings]
    call.answer({**count, "checks": rows_of_json}, [*rows, total])
    return BadFile.exit_code if count["bad"] else 0


@command("restore")
def restore(
    call: Call,
    source: Annotated[Path | None, Option("--from", "a copy of history.json, which may be damaged")] = None,
    give_up: Annotated[Path | None, Option("--give-up", "a file whose unreadable messages you give up")] = None,
) -> int:
    """
    Restore a damaged or lost history.json; with --from, also add the messages that only a copy of it has.

    Ends with 65 while something could not be read. `recalld backup restore` restores a backup of the whole
    workspace.
    """
    from ...checks.incoming import why_unread
    from ...operations import upkeep

    done = call.perform(upkeep.restore, upkeep.RestoreRequest(source=source, give_up=give_up))
    answer = {"restored": done.restored} | ({} if done.added is None else {"added": done.added})
    unread = [asdict(piece) for piece in done.unread]
    call.answer(answer | {"unread": unread}, answer)
    ws, _ = call.opened()
    for piece in done.unread:
        call.say(why_unread(piece, ws.unread.path_of(piece)), BadFile.exit_code)
    return BadFile.exit_code if done.unread else 0


@command("index status")
def index_status(call: Call) -> None:
    """Show what the index holds, and whether it is up to date."""
    from ...operations import upkeep

    inventory = call.perform(upkeep.index_status)
    state: Text = Word("up to date")
    if inventory.differing:
        state = Text(
            "files of memory that are not in it as they are now: {count}; the next question takes them in, or `recalld index rebuild`",
            count=inventory.differing,
        )
    call.answer({**_held(inventory), "differing": inventory.differing}, {**_held(inventory), "state": state})


@command("index rebuild")
def index_rebuild(call: Call) -> int:
    """Rebuild the index from the files, and compute the missing vectors; 69 if their server does not answer."""
    from ...host.jobs import make_vectors
    from ...operations import upkeep

    changes = asdict(call.perform(upkeep.index_rebuild, upkeep.RebuildRequest()))
    ws, _ = call.opened()
    _, fault = make_vectors(ws, utc_now)
    held = _held(ws.index.inventory())
    odd = {name: changes[name] for name in ("shared", "unread") if changes[name]}
    call.answer({**changes, **held}, {**held, **odd})
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
    task = AskedTask(id="model-test", kind="model-test", prompt=_QUESTION)
    reply = ask_worker(ws.paths.root, task, ws.config.llm.timeout.total_seconds() + _BESIDE_S, os.environ, call.language)
    if reply.result is None:
        return call.say(reply.sentence, reply.exit_code)
    result, is_answer = reply.result, reply.result.status == "done"
    outcome = {"answer": result.text} if is_answer else {"error": result.error}
    fields = {"model": result.model, "seconds": f"{result.duration_ms / 1000:.1f}", **outcome}
    if not is_answer:
        if call.json:
            call.answer(fields)
        return call.say(Text("no answer came: {why}.", why=result.error), 69)
    answer = " ".join(result.text.split())[:_SHOWN]
    sentences = [
        Text("{model} answered after {seconds} s: {answer}", model=result.model, seconds=fields["seconds"], answer=answer)
    ]
    if end_pause(ws.model_use):
        sentences.append(Text("its pause is over; a running supervisor asks it for summaries again."))
    call.answer(fields, sentences)
    return 0
