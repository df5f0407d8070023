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
from recalld.supervisor.storage.catalogue import Text
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
    findings = [] if refused is None else [Finding("configuration", "bad", refused.sentence)]
    for name, good, look in (*_CHECKS, (*SUPERVISOR, supervisor)):
        if name == "configuration" and refused:
            continue
        found, told = _found(look, ws, now, environ), {finding.why for finding in findings}
        findings += [Finding(name, state, why) for state, why in found if why not in told]
        if not found:
            findings.append(Finding(name, "good", Text(good)))
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
            found.append(bad(refused.sentence))
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
        yield bad(Text("doctor.damage", lost=len(ledger.lost), damaged=len(damage)))
    kept = len(ws.files.disk.names(ws.paths.quarantine))
    if kept >= ws.config.care.quarantine_limit:
        yield odd(Text("doctor.quarantine_full", count=kept))


def _long_term(ws: Workspace, _now: datetime, _environ: Mapping[str, str]) -> Found:
    """Yield that there are two long-term files."""
    if {"memory.md", "MEMORY.md"} <= {*ws.files.disk.names(ws.paths.root)}:
        yield odd(Text("doctor.two_long_term_files"))


def _index(ws: Workspace, now: datetime, _environ: Mapping[str, str]) -> Found:
    """
    Yield that the index is damaged, or that a running supervisor does not keep it up to date.

    Without one the next search takes in what has changed, so nothing is wrong. A change of the last minute may be on its way.
    """
    if ws.files.disk.is_read_only(ws.paths.root):
        return  # the engine opens no index there
    found = ws.index.inventory()
    if found.damage:
        yield bad(Text("doctor.index_unreadable", why=found.damage))
    elif is_running(ws) and found.differing:
        newest = max((stat.st_mtime for _, stat in walk(ws.paths.memory)), default=0.0)
        if now - datetime.fromtimestamp(newest, UTC) > _INDEXED_IN:
            yield odd(Text("doctor.index_old", count=found.differing))


def _tasks(ws: Workspace, now: datetime, _environ: Mapping[str, str]) -> Found:
    """Yield which summaries wait after a failure, and which tasks nobody takes."""
    failing = {g: f for g, f in ws.failures().items() if f.attempts < ws.config.archive.max_attempts}
    for group, failure in sorted(failing.items())[:1]:
        label, why = group.partition("-")[2], REASONS.get(failure.reason, failure.reason)
        yield odd(
            Text(
                "doctor.summaries_wait",
                count=len(failing),
                label=label,
                since=local_time(ws, failure.failed_at),
                why=why,
                time=local_time(ws, failure.next_at),
            )
        )
    for folder in QUEUE_FOLDERS[:3]:
        stats = ws.files.disk.stats(ws.paths.worker / folder)
        times = [stat.mtime_ns for name, stat in stats.items() if name.endswith(".json")]
        since = datetime.fromtimestamp(min(times) / 1e9, UTC) if times else now
        if now - since > LONGEST_WAIT:
            yield odd(Text("doctor.tasks_wait", folder=folder, count=len(times), since=local_time(ws, since)))


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
        yield found_to_be(Text("doctor.no_key", where=where, name=llm.api_key_env))
        return
    found = _listed(ws.paths.root, environ)
    if "error" in found:
        yield bad(Text("doctor.model_unreachable", why=found["error"]))
    elif found["known"] is None:
        yield odd(Text("doctor.no_model_list", model=llm.model))
    elif not found["known"]:
        others = found["models"] or Text("tool.none")
        yield bad(Text("doctor.model_unknown", model=llm.model, others=others))
    elif found["window"] and found["window"] < llm.context_tokens:
        yield bad(Text("doctor.window_small", model=llm.model, window=found["window"], wanted=llm.context_tokens))


def _listed(root: Path, environ: Mapping[str, str]) -> dict[str, Any]:
    """Return what the worker, which alone talks to models, is told by the server."""
    command = [*worker_command(root), "--list", "--json"]
    try:
        asked = subprocess.run(command, env=dict(environ), capture_output=True, text=True, check=False, timeout=_LIST_S)
        found: dict[str, Any] = json.loads(asked.stdout)
    except subprocess.TimeoutExpired:
        return {"error": Text("server.timeout")}
    except ValueError:
        return {"error": asked.stderr.strip().removeprefix("recalld worker: ").rstrip(".")}
    return found


def _key(ws: Workspace, _now: datetime, environ: Mapping[str, str]) -> Found:
    """Yield which file of the workspace has the key of the model, and whether others may read the credential."""
    name = ws.config.llm.api_key_env
    for place in _files_with_the_key(ws, name, find_key(name, environ)):
        yield bad(Text("doctor.key_in_files", place=place, name=name))
        break
    folder = environ.get("CREDENTIALS_DIRECTORY", "")
    for path in (Path(folder) / name, Path(folder) / CREDENTIAL) if folder else ():
        if path.is_file() and path.stat().st_mode & modes.S_IROTH:
            yield bad(Text("doctor.key_open", path=path, command=f"chmod go= {path}"))


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


#: The checks in their order, each with what is said where it finds nothing. What the machine gives is first.
_CHECKS: Final[tuple[tuple[str, str, Look], ...]] = (
    ("environment", "doctor.good_environment", machine.environment),
    ("configuration", "doctor.good_configuration", _no_fault),
    ("rights", "doctor.good_rights", machine.rights),
    ("links", "doctor.good_links", machine.links),
    ("disk", "doctor.good_disk", machine.disk),
    ("clock", "doctor.good_clock", machine.clock),
    ("file events", "doctor.good_file_events", machine.file_events),
    ("format", "doctor.good_format", _format),
    ("status", "doctor.good_status", _state),
    ("files", "doctor.good_files", _files),
    ("long-term file", "doctor.good_long_term_file", _long_term),
    ("index", "doctor.good_index", _index),
    ("tasks", "doctor.good_tasks", _tasks),
    ("model", "doctor.good_model", _model),
    ("key", "doctor.good_key", _key),
    ("service", "doctor.good_service", installed.units),
)
#: The last check and what it says when all is well; who has the socket is asked by the caller.
SUPERVISOR: Final = ("supervisor", "doctor.good_supervisor")
