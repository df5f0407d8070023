"""
What whole commands take in two checkouts, in turn, with a supervisor and without, and what twenty clients get from each.

    python -m bench.beside OTHER                     5,000 messages, 15 runs: two minutes
    python -m bench.beside OTHER --alone             without a supervisor, and without clients
    python -m bench.beside OTHER --clients 20 --runs 30

OTHER is a checkout with a .venv of its own. Each has a workspace of the same made-up talk (talk.py), indexed beforehand, and a
supervisor of its own; the processes take turns in one run. Figures are medians of the processor in milliseconds, and how many times
the other's they are, of the processor and on the wall. `hook` is the question of a client. The clients are threads of this process, which ask the socket for searches, no question
twice, each waiting for its answer: searches a second, and the slowest answer.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from bench.commands import ASKED, CODES, Timed
from bench.served import ENVIRON, Served, served
from bench.speed import write

COMMANDS = {
    "--version": ["--version"],
    "append": ["append", "--role", "user", "--text", "The backups are on nas2 now."],
    "inject": ["inject", "--query", ASKED["English"]],
    "inject, Chinese": ["inject", "--query", ASKED["Chinese"]],
    "search": ["search", "backup"],
    "status": ["status"],
    "plan": ["status", "--plan"],
    "context": ["context", "--query", ASKED["English"]],
    "hook": ["hook", "claude-code"],
}
EVENT = {"hook_event_name": "UserPromptSubmit", "session_id": "beside", "prompt": ASKED["English"], "cwd": "/"}
WORDS = "backup server disk train dentist budget garden deploy holiday invoice router printer".split()


def in_turn(roots: dict[str, Path], pythons: dict[str, Path], timed: Timed, runs: int, how: str) -> None:
    """Time every command of each checkout, one after the other, *runs* times."""
    event = json.dumps(EVENT).encode()
    for _ in range(runs):
        for command, words in COMMANDS.items():
            for name, root in roots.items():
                where = [] if command == "--version" else ["-w", str(root)]
                line = [str(pythons[name].parent / "recalld"), *where, *words]
                timed.run(f"{command}, {how}, {name}", line, given=event, codes=CODES.get(command, (0,)))


def clients(supervisor: Served, number: int, questions: int) -> tuple[float, float]:
    """Return how many searches a second that many clients get, and the slowest answer in milliseconds."""

    def client(own: int) -> list[float]:
        took = []
        for n in range(questions):
            began = time.perf_counter()
            supervisor.ask("search", f"{WORDS[(own + n) % len(WORDS)]} {WORDS[(own * 5 + n * 7) % len(WORDS)]} {own}{n}")
            took.append((time.perf_counter() - began) * 1000)
        return took

    began = time.perf_counter()
    with ThreadPoolExecutor(number) as pool:
        took = [one for each in pool.map(client, range(number)) for one in each]
    return len(took) / (time.perf_counter() - began), max(took)


def show(timed: Timed, names: tuple[str, str]) -> None:
    """Print the processor's medians of both checkouts, and how many times the second's the first's are, on the wall, too."""
    print("| command | processor ms | other | × processor | × wall |\n|---|---|---|---|---|")
    for row in dict.fromkeys(name.rpartition(", ")[0] for name in timed.took):
        own, other = (timed.of(f"{row}, {name}") for name in names)
        print(f"| {row} | {own[3]:.1f} | {other[3]:.1f} | {own[3] / other[3]:.2f} | {own[1] / other[1]:.2f} |", flush=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("other", type=Path, help="a checkout with a .venv")
    options.add_argument("--messages", type=int, default=5_000, help="to ask about (5000)")
    options.add_argument("--runs", type=int, default=15, help="of each command (15)")
    options.add_argument("--alone", action="store_true", help="without a supervisor, and without clients")
    options.add_argument("--clients", type=int, default=20, help="that search at once (20)")
    found = options.parse_args()
    pythons = {"this": Path(sys.executable), "other": found.other.resolve() / ".venv/bin/python"}
    timed = Timed(ENVIRON)
    with tempfile.TemporaryDirectory(prefix="beside-") as folder, ExitStack() as stack:
        roots = {name: Path(folder) / name for name in pythons}
        for name, root in roots.items():
            root.mkdir()
            write(root, found.messages)
            (root / "memory.md").write_text("2026-01-28|chat|The backups are on nas2.\n")
            timed.run(f"index, {name}", [str(pythons[name].parent / "recalld"), "-w", str(root), "index", "rebuild"])
        in_turn(roots, pythons, Timed(ENVIRON), 1, "")
        in_turn(roots, pythons, timed, found.runs, "alone")
        if found.alone:
            show(timed, ("this", "other"))
            return
        running = {name: stack.enter_context(served(root, python=pythons[name])) for name, root in roots.items()}
        for one in running.values():
            one.ask("inject", "--query", ASKED["Chinese"])
            one.await_rest()
        in_turn(roots, pythons, timed, found.runs, "served")
        show(timed, ("this", "other"))
        for turn in range(4):
            for name, one in running.items():
                rate, slowest = clients(one, found.clients, 20)
                print(
                    f"{found.clients} clients, {name}, turn {turn}: {rate:.0f} searches a second, the slowest {slowest:.0f} ms"
                )


if __name__ == "__main__":
    main()
