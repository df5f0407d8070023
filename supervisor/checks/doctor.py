"""
The checks of `recalld doctor`: all that can be wrong around a workspace, each with the command that mends it.

It asks what `status`, `fsck` and `model test` ask, changes nothing, and has no completion made: a model's server is asked for
its list of models alone. What it looks at outside the memory is in machine.py.
"""

from __future__ import annotations

import json
import re
import stat as modes
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from recalld.supervisor.checks import installed, machine
from recalld.supervisor.checks.fsck import fsck
from recalld.supervisor.checks.machine import bad, odd, walk
from recalld.supervisor.checks.troubles import LONGEST_WAIT, REASONS, is_running, local_time, troubles
from recalld.supervisor.events import EventLog
from recalld.supervisor.host.workers import worker_command
from recalld.supervisor.protocol.config import load, render_default
from recalld.supervisor.protocol.llm import CREDENTIAL, NO_KEY, find_key, is_local, without_credentials
from recalld.supervisor.protocol.paths import QUEUE_FOLDERS, WorkspacePaths
from recalld.supervisor.storage.clock import fixed_clock, machine_zone
from recalld.supervisor.storage.disk import RealDisk
from recalld.supervisor.storage.errors import BadConfig, NoPermission, as_supervisor_error
from recalld.supervisor.storage.files import Files
from recalld.supervisor.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from recalld.supervisor.checks.machine import Found, State

Look: TypeAlias = "Callable[[Workspace, datetime, Mapping[str, str]], Found]"

#: A command in a sentence.
_COMMAND: Final = re.compile(r"`([^`]+)`")
#: The most bytes of a file that is searched for the key.
_MOST_BYTES: Final = 8 << 20
#: A key has at least so many characters; shorter ones, such as "ollama", stand for none and may be anywhere.
_KEY_CHARS: Final = 16
#: A running supervisor has a change in the index by then.
_INDEXED_IN: Final = timedelta(minutes=1)
#: Seconds for the list of models, with the start of the process that asks for it.
_LIST_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found: its name, "good", "odd" or "bad", and why in a sentence."""

    check: str
    state: State
    why: str

    @property
    def mend(self) -> str | None:
        """The command of the sentence, None where it names none."""
        found = _COMMAND.search(self.why)
        return found[1] if found else None


def examine(
    ws: Workspace, refused: BadConfig | None, environ: Mapping[str, str], now: datetime, supervisor: Look
) -> list[Finding]:
    """
    Return what each check finds in the workspace, in their order; a check that finds nothing is "good".

    *ws* and *refused* are what `opened_anyway` returned; *supervisor* is the check of the one that runs. What an earlier
    check has told is not told again.
    """
    findings = [] if refused is None else [Finding("configuration", "bad", str(refused))]
    for name, good, look in (*_CHECKS, (*SUPERVISOR, supervisor)):
        if name == "configuration" and refused:
            continue
        found, told = _found(look, ws, now, environ), {finding.why for finding in findings}
        findings += [Finding(name, state, why) for state, why in found if why not in told]
        if not found:
            findings.append(Finding(name, "good", f"{good}."))
    return findings


def opened_anyway(root: Path, environ: Mapping[str, str], now: datetime) -> tuple[Workspace, BadConfig | None]:
    """Return the workspace, with what `init` would write where its configuration is wrong, and why that is."""
    files, paths, refused = Files(RealDisk()), WorkspacePaths(root), None
    config = load(render_default(machine_zone(environ)).encode(), {})
    try:
        version = files.read_stable(paths.config)
        config = load(version.data if version else None, environ)
    except BadConfig as error:
        refused = error
    except OSError:
        pass  # the check of rights tells it
    return Workspace(root, config, files, EventLog(paths.log, fixed_clock(now), config.log), environ), refused


def _found(look: Look, ws: Workspace, now: datetime, environ: Mapping[str, str]) -> list[tuple[State, str]]:
    found: list[tuple[State, str]] = []
    try:
        found += look(ws, now, environ)
    except Exception as error:  # noqa: BLE001 - a check that fails must not stop the others
        refused = as_supervisor_error(error, "doctor", ws.paths.root)
        has_no_right = isinstance(refused, NoPermission) and look is not machine.rights
        if not (has_no_right and _found(machine.rights, ws, now, environ)):
            found.append(bad(str(refused)))
    return found


def _no_fault(_ws: Workspace, _now: datetime, _environ: Mapping[str, str]) -> Found:
    """Yield nothing: a wrong configuration is found when it is read, before the checks."""
    yield from ()


def _format(ws: Workspace, _now: datetime, _environ: Mapping[str, str]) -> Found:
    """Raise NewerFormat where a newer recalld has written."""
    yield from ()
    ws.journal.refuse_newer()
    ws.memory.summaries()


def _state(ws: Workspace, now: datetime, _environ: Mapping[str, str]) -> Found:
    """Yield what `status` says."""
    yield from (bad(sentence) for sentence in troubles(ws, now))


def _files(ws: Workspace, now: datetime, _environ: Mapping[str, str]) -> Found:
    """Yield what `fsck` finds; damage is told if `status` has told none, which would be the same."""
    ledger = fsck(ws)
    damage = [] if ledger.damage and any(troubles(ws, now)) else ledger.damage
    if ledger.lost or damage:
        yield bad(
            f"messages are lost ({len(ledger.lost)}) or files damaged ({len(damage)}); "
            f"`recalld fsck` lists them, `recalld fsck --repair` mends what can be mended."
        )
    kept = len(ws.files.disk.names(ws.paths.quarantine))
    if kept >= ws.config.care.quarantine_limit:
        yield odd(
            f"quarantine is full ({kept} files), and no more damaged files are kept; look at them and delete what you do not "
            "need, `ls .recalld/quarantine` in the workspace lists them."
        )


def _long_term(ws: Workspace, _now: datetime, _environ: Mapping[str, str]) -> Found:
    """Yield that there are two long-term files."""
    if {"memory.md", "MEMORY.md"} <= {*ws.files.disk.names(ws.paths.root)}:
        yield odd(
            "memory.md and MEMORY.md are both there; `cat MEMORY.md >> memory.md && rm MEMORY.md` in the workspace "
            "makes one of them."
        )


def _index(ws: Workspace, now: datetime, _environ: Mapping[str, str]) -> Found:
    """
    Yield that the index is damaged, or that a running supervisor does not keep it up to date.

    Without one the next search takes in what has changed, so nothing is wrong. A change of the last minute may be on its way.
    """
    if ws.files.disk.is_read_only(ws.paths.root):
        return  # the engine opens no index there
    found = ws.index.inventory()
    if found.damage:
        yield bad(f"the index can't be read: {found.damage}; `recalld index rebuild` makes it again.")
    elif is_running(ws) and found.differing:
        newest = max((stat.st_mtime for _, stat in walk(ws.paths.memory)), default=0.0)
        if now - datetime.fromtimestamp(newest, UTC) > _INDEXED_IN:
            yield odd(
                f"the index is older than memory ({found.differing} files); `recalld index rebuild` brings it up to date."
            )


def _tasks(ws: Workspace, now: datetime, _environ: Mapping[str, str]) -> Found:
    """Yield which summaries wait after a failure, and which tasks nobody takes."""
    failing = {g: f for g, f in ws.failures().items() if f.attempts < ws.config.archive.max_attempts}
    for group, failure in sorted(failing.items())[:1]:
        label, why = group.partition("-")[2], REASONS.get(failure.reason, failure.reason)
        yield odd(
            f"summaries wait after a failure ({len(failing)}), the first is {label}, since "
            f"{local_time(ws, failure.failed_at)}: {why}; it is tried again at {local_time(ws, failure.next_at)}, "
            f"`recalld summary redo {label}` tries now."
        )
    for folder in QUEUE_FOLDERS[:3]:
        stats = ws.files.disk.stats(ws.paths.worker / folder)
        times = [stat.mtime_ns for name, stat in stats.items() if name.endswith(".json")]
        since = datetime.fromtimestamp(min(times) / 1e9, UTC) if times else now
        if now - since > LONGEST_WAIT:
            yield odd(
                f"tasks wait in worker/{folder} ({len(times)}) since {local_time(ws, since)}, and nobody takes them; "
                f"`recalld run --until-settled` does."
            )


def _model(ws: Workspace, _now: datetime, environ: Mapping[str, str]) -> Found:
    """Yield why the model can't be asked, that its server does not know it, and that its window is too small."""
    llm = ws.config.llm
    if ws.extracting or not llm.model:  # `status` says that no model is named
        return
    key = find_key(llm.api_key_env, environ)
    is_elsewhere = llm.base_url.startswith("https:") and not is_local(llm.base_url)
    if key == NO_KEY and (is_elsewhere or not llm.base_url):  # it is not asked: many a server tells its list to everybody
        where = without_credentials(llm.base_url) if llm.base_url else "OpenAI"
        found_to_be = odd if is_elsewhere else bad  # a company's own server may want none
        yield found_to_be(
            f"no key for {where} is found, neither in the variable {llm.api_key_env} nor in a credential of systemd; "
            f"`export {llm.api_key_env}=KEY` gives it to this shell."
        )
        return
    found = _listed(ws.paths.root, environ)
    if "error" in found:
        yield bad(f"the model can't be asked: {found['error']}; `recalld model test` asks it again.")
    elif found["known"] is None:
        yield odd(f"the server has no list of models, so {llm.model} was not looked up; `recalld model test` asks it.")
    elif not found["known"]:
        others = ", ".join(found["models"]) or "none"
        yield bad(
            f"the server does not have the model {llm.model}, but {others}; correct llm.model in recalld.toml, "
            f"`recalld model test` asks it then."
        )
    elif found["window"] and found["window"] < llm.context_tokens:
        yield bad(
            f"the window of {llm.model} has {found['window']} tokens, fewer than llm.context_tokens ({llm.context_tokens}); "
            f"lower that in recalld.toml, or give the model more, `recalld model test` asks it then."
        )


def _listed(root: Path, environ: Mapping[str, str]) -> dict[str, Any]:
    """Return what the worker, which alone talks to models, is told by the server."""
    command = [*worker_command(root), "--list", "--json"]
    try:
        asked = subprocess.run(command, env=dict(environ), capture_output=True, text=True, check=False, timeout=_LIST_S)
        found: dict[str, Any] = json.loads(asked.stdout)
    except subprocess.TimeoutExpired:
        return {"error": "the server did not answer in time"}
    except ValueError:
        return {"error": asked.stderr.strip().removeprefix("recalld worker: ").rstrip(".")}
    return found


def _key(ws: Workspace, _now: datetime, environ: Mapping[str, str]) -> Found:
    """Yield which file of the workspace has the key of the model, and whether others may read the credential."""
    name = ws.config.llm.api_key_env
    for place in _files_with_the_key(ws, name, find_key(name, environ)):
        yield bad(
            f"the key of the model is in {place}, where backups and readers of the workspace find it; take it out there, "
            f"`export {name}=KEY` gives it to this shell."
        )
        break
    folder = environ.get("CREDENTIALS_DIRECTORY", "")
    for path in (Path(folder) / name, Path(folder) / CREDENTIAL) if folder else ():
        if path.is_file() and path.stat().st_mode & modes.S_IROTH:
            yield bad(f"all users of this machine can read the key in {path}; `chmod go= {path}` closes it.")


def _files_with_the_key(ws: Workspace, name: str, key: str) -> Iterator[str]:
    """Yield the files with the key, or with a line that sets the variable *name*; pictures and the index are not read."""
    sets_it = re.compile(rf"^[ \t]*(?:export[ \t]+)?{re.escape(name)}[ \t]*=[ \t]*[\"']?\w".encode(), re.MULTILINE)
    passed = (ws.paths.attachments, ws.paths.state / "index", ws.paths.vectors)
    for path, found in walk(ws.paths.root):
        if not modes.S_ISREG(found.st_mode) or found.st_size > _MOST_BYTES or any(map(path.is_relative_to, passed)):
            continue
        try:
            data = path.read_bytes()
        except OSError:
            continue  # the check of rights tells it
        if (len(key) >= _KEY_CHARS and key.encode() in data) or (path.parent == ws.paths.root and sets_it.search(data)):
            yield ws.paths.relative(path)


#: The checks in their order: what the machine gives first, since the rest stands on it.
_CHECKS: Final[tuple[tuple[str, str, Look], ...]] = (
    ("environment", "Python and the packages are those that recalld needs", machine.environment),
    ("configuration", "recalld.toml and the variables are right", _no_fault),
    ("rights", "all files are this user's, and closed to others", machine.rights),
    ("links", "no link leads out of the workspace", machine.links),
    ("disk", "the workspace is on a disk of this machine, which has room", machine.disk),
    ("clock", "the clock was not set, and the time zone is chosen", machine.clock),
    ("file events", "there are enough file events", machine.file_events),
    ("format", "this version reads every file", _format),
    ("status", "`recalld status` says that all is well", _state),
    ("files", "no message is lost, and no file damaged", _files),
    ("long-term file", "there is at most one long-term file", _long_term),
    ("index", "the index can be read, and is up to date", _index),
    ("tasks", "no task and no summary waits", _tasks),
    ("model", "the model can be asked, or none is configured", _model),
    ("key", "the key of the model is in no file of the workspace", _key),
    ("service", "the service is as this version installs it, or there is none", installed.units),
)
#: The last check and what it says when all is well; who has the socket is asked by the caller.
SUPERVISOR: Final = ("supervisor", "the supervisor responds and is of this version, or none runs")
