"""The commands that check and repair a workspace: status, plan, doctor, fsck, restore (docs/reference/cli.md)."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path  # noqa: TC003 - typer reads the annotations
from typing import TYPE_CHECKING, Annotated

import typer

from ...operations import upkeep
from ...storage.clock import utc_now
from ...storage.errors import BadFile
from ...storage.texts import Text
from ...text.printable import printable_line
from ..cli import state
from .app import Context, Folder, Json, Now  # noqa: TC001 - typer reads the annotations
from .output import as_json, as_text, wire, word

if TYPE_CHECKING:
    from .call import Call


def status(
    ctx: Context,
    workspace: Folder = None,
    now: Now = None,
    json: Json = False,
) -> int:
    """Show the state of the workspace, what is wrong first; 65 when something is wrong."""
    return state.status(ctx.obj, workspace=workspace, now=now, json=json)


def plan(
    ctx: Context,
    at: Annotated[str | None, typer.Option("--at", help="the moment to plan for, ISO 8601")] = None,
    workspace: Folder = None,
    now: Now = None,
    json: Json = False,
) -> int:
    """Show what the next run would do."""
    return state.plan(ctx.obj, at=at, workspace=workspace, now=now, json=json)


def fsck(
    ctx: Context,
    repair: Annotated[bool, typer.Option("--repair", help="mend what can be mended; no byte goes without a copy")] = False,
    accept: Annotated[
        Path | None, typer.Option("--accept", help="what is missing of this dated file is no longer wanted")
    ] = None,
    accept_times: Annotated[
        bool, typer.Option("--accept-times", help="messages whose time can't be read belong to the day they came")
    ] = False,
    report: Annotated[bool, typer.Option("--report", help="report what is wrong to status, log, care.on_trouble")] = False,
    workspace: Folder = None,
    now: Now = None,
    json: Json = False,
) -> None:
    """Account for every message; 65 when one is lost or a file is damaged."""
    call: Call = ctx.obj
    from time import sleep

    from ...checks import nightly
    from ...checks.check import Look
    from ...checks.systemd import failed_unit
    from ...checks.table import account
    from ...protocol.making import check_made

    if report:
        check_made(call.root_of(workspace))
    ws, at = call.opened(workspace, now)
    mended: dict[str, object] = {}
    if accept:
        mended = {"accepted": call.perform(upkeep.accept, upkeep.AcceptRequest(file=accept), workspace, now)}
    if accept_times:
        mended |= {"acceptedTimes": call.perform(upkeep.accept_times, upkeep.StateRequest(), workspace, now)}
    if repair:
        mended |= {"repaired": wire(asdict(call.perform(upkeep.repair, upkeep.StateRequest(), workspace, now)))}
    down = failed_unit(os.environ) if report else ""
    if report and call.moment(now) is None and not down:  # a service that is down archives nothing, so its report can't wait
        nightly.await_quiet_end(ws, utc_now, sleep)
        at = utc_now()
    if report:
        ledger, wrong = nightly.report(ws, at, call.renderer(), service=down)
    else:
        ledger, wrong = account(Look(ws, at, os.environ)), []
    if repair and not report:
        nightly.note(ws, ledger, at)
    for sentence in wrong:
        call.say(sentence, BadFile.exit_code)
    found = wire(asdict(ledger)) | mended
    if json or not report:
        call.show(as_json(found) if json else as_text(found, call.renderer()))
    elif not wrong:
        call.show(call.renderer()(Text("every message is accounted for ({count}), and nothing is wrong.", count=ledger.seen)))
    if wrong or not ledger.is_well:
        raise typer.Exit(BadFile.exit_code)


def doctor(
    ctx: Context,
    verbose: Annotated[bool, typer.Option("--verbose", help="what is good, too")] = False,
    broker: Annotated[bool, typer.Option("--broker", help="check the pool of workers alone")] = False,
    workspace: Folder = None,
    now: Now = None,
    json: Json = False,
) -> None:
    """Check the workspace and the machine, and change nothing; 65 when something is bad."""
    call: Call = ctx.obj
    from ...checks.check import Look
    from ...checks.table import examine, opened_anyway
    from ...protocol.making import check_folder

    root = call.root_of(workspace)
    check_folder(root)
    if broker:
        from .pool import show_pool

        if not show_pool(call, root, json=json):
            raise typer.Exit(BadFile.exit_code)
        return
    at = call.moment(now) or utc_now()
    ws, refused = opened_anyway(root, os.environ, at)
    call.workspace = ws  # its language is that of the output
    findings = examine(Look(ws, at, os.environ, *state.supervisor_of(root, call)), refused)
    count = {state: sum(finding.state == state for finding in findings) for state in ("good", "odd", "bad")}
    if json:
        call.show(as_json({**count, "checks": [{**asdict(finding), "mend": finding.mend} for finding in findings]}))
    else:
        render = call.renderer()
        shown = [finding for finding in findings if verbose or finding.state != "good"]
        rows = (f"{render(word(one.state))}  {render(word(one.check))}  {printable_line(render(one.why))}" for one in shown)
        call.show("\n".join([*rows, render(_total(count))]))
    if count["bad"]:
        raise typer.Exit(BadFile.exit_code)


def _total(count: dict[str, int]) -> str:
    if count["odd"] or count["bad"]:
        return Text("{count} checks: {bad} bad, {odd} odd.", count=sum(count.values()), bad=count["bad"], odd=count["odd"])
    return Text("{count} checks, all well.", count=count["good"])


def restore(
    ctx: Context,
    source: Annotated[Path | None, typer.Option("--from", help="a copy of history.json, damaged or not")] = None,
    give_up: Annotated[
        Path | None, typer.Option("--give-up", help="what can't be read of this file is no longer wanted")
    ] = None,
    workspace: Folder = None,
    now: Now = None,
    json: Json = False,
) -> None:
    """
    Restore a damaged or lost history.json now; with --from, add what a copy of it has that is nowhere else.

    Ends with 65 while there is something that could not be read. `recalld backup restore` restores a backup of the whole
    workspace.
    """
    from ...checks.incoming import why_unread

    call: Call = ctx.obj
    done = call.perform(upkeep.restore, upkeep.RestoreRequest(source=source, give_up=give_up), workspace, now)
    found = {"restored": done.restored} | ({} if done.added is None else {"added": done.added})
    unread = [asdict(one) for one in done.unread]
    call.show(as_json(found | {"unread": unread}) if json else as_text(found, call.renderer()))
    ws, _ = call.opened(workspace, now)
    for one in done.unread:
        call.say(why_unread(one, ws.unread.path_of(one)), BadFile.exit_code)
    if done.unread:
        raise typer.Exit(BadFile.exit_code)


def register(app: typer.Typer) -> None:
    """Add the commands to *app*."""
    for command in (status, plan, doctor, fsck, restore):
        app.command()(command)
