"""
What is true now: whether the right one of two messages about the same thing is the first one shown.

    python -m bench.changed                 all of questions/changed
    python -m bench.changed --misses        with the questions that were answered wrongly
    python -m bench.changed --weeks work    two conversations of three weeks, as people type; "unseen" is their other half
    python -m bench.changed --weeks fresh   pairs whose newer fact has another noun, among two months of ordinary talk
    python -m bench.changed --set recall.backend=auto        by meaning too, where recalld[meaning] is installed

A pair is a fact and what it became weeks later. It is asked for with "now", plainly, and as it was. A third of the pairs was said in
talks, a third is in daily summaries, a third in lines of memory.md; all pairs of a language are in one memory. "first" is how often the
right one is the first passage of the block, "before" how often it is shown before the other one. Of pairs that look alike and are not,
two birthdays or two servers, each is asked for: "hidden" counts those that are not shown. In the conversations a question may ask for
both of a pair ("either"): "hidden" counts those where one of them is not shown. "both" counts the blocks that have the two of a pair: of
changed facts that is what is wanted (a reader sees which is newer), of facts that only look alike the other one was drawn in.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import defaultdict
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo

from bench.recall import BLANK, environ_of, input_of, passages, share
from recalld.supervisor.context.build import inject
from recalld.supervisor.host.jobs import make_vectors
from recalld.supervisor.storage.clock import fixed_clock
from recalld.supervisor.workspace import Workspace, open_workspace

HERE = Path(__file__).parent / "questions/changed"
ZONE = ZoneInfo("Asia/Shanghai")
HALVES = ("work", "unseen")
FRESH = "fresh"
ASKED = datetime(2026, 11, 23, 9, 0, tzinfo=ZONE)
FIRST = date(2026, 8, 24)
#: The morning after the conversations of three weeks.
AFTERWARDS = datetime(2026, 9, 14, 9, 0, tzinfo=ZONE)
#: The morning after the two months of ordinary talk.
AFTER_FRESH = datetime(2026, 10, 26, 9, 0, tzinfo=ZONE)
WHERE = ("talks", "summaries", "lines")
SPEAKERS = {"talks": "user", "answers": "assistant"}
#: The heading of each fact of a summary, which says nothing about it.
HEADING = "## …"
WHOLE = 0.9


class Asked(NamedTuple):
    """One question: the passage that answers it, and the other one of its pair; where *how* is "either", both answer it."""

    kind: str
    where: str
    how: str
    question: str
    right: str
    other: str


def rows(name: str) -> list[list[str]]:
    """Return the fields of each line of a file of pairs."""
    return [line.split(" | ") for line in (HERE / name).read_text(encoding="utf-8").splitlines()]


def make(root: Path, said: list[tuple[str, str, str]]) -> None:
    """Make a workspace in which each of (where, day, text) was said, in this order on a day; "answers" are the assistant's in a talk."""
    (root / "memory/summary").mkdir(parents=True)
    (root / "recalld.toml").write_text(f'[archive]\ntimezone = "{ZONE.key}"\n')
    files: dict[str, list[str]] = defaultdict(list)
    for where, day, text in said:
        if where in SPEAKERS:
            talk = files[f"memory/{day}-chat.md"]
            talk.append(f"- 09:{len(talk):02} {SPEAKERS[where]}: {text}\n")
        elif where == "summaries":
            files[f"memory/summary/{day}.md"].append(f"{HEADING}\n\n- {text}\n\n")
        else:
            files["memory.md"].append(f"{day}|web-chat|{text}\n")
    for path, lines in files.items():
        (root / path).write_text("".join(lines), encoding="utf-8")


def pairs(language: str) -> tuple[list[tuple[str, str, str]], list[Asked]]:
    """Return what was said, and what is asked."""
    said: list[tuple[str, str, str]] = []
    asked: list[Asked] = []
    for n, (kind, old, new, now, plain, past) in enumerate(rows(f"{language}.pairs.txt")):
        where, first = WHERE[n % 3], FIRST + timedelta(days=n % 30)
        said += [(where, str(first), old), (where, str(first + timedelta(days=21 + n % 29)), new)]
        asked += [Asked(kind, where, "now", now, new, old), Asked(kind, where, "plainly", plain, new, old)]
        asked.append(Asked(kind, where, "past", past, old, new))
    for n, (one, other, ask_one, ask_other) in enumerate(rows(f"{language}.alike.txt")):
        where, first = WHERE[n % 3], FIRST + timedelta(days=(7 * n) % 40)
        said += [(where, str(first), one), (where, str(first + timedelta(days=25)), other)]
        asked += [Asked("alike", where, "alike", ask_one, one, other), Asked("alike", where, "alike", ask_other, other, one)]
    return sorted(said), asked


def weeks(language: str, half: str) -> tuple[list[tuple[str, str, str]], list[Asked]]:
    """Return what was said in three weeks, all of it, and what is asked of one half of the pairs."""
    said: list[tuple[str, str, str]] = []
    asked: list[Asked] = []
    for n, (kind, one, other, *questions) in enumerate(rows(f"{language}.weeks.txt")):
        days = (FIRST + timedelta(days=7 * n % 10), FIRST + timedelta(days=10 + 7 * n % 11))
        said += [("talks", str(day), text) for day, text in zip(days, (one, other), strict=True)]
        if HALVES[n // 2 % 2] != half:
            continue
        if kind == "changed":
            asked += [Asked("weeks", "talks", "changed", question, other, one) for question in questions]
        else:
            either, *each = questions
            asked.append(Asked("weeks", "talks", "either", either, one, other))
            asked += [
                Asked("weeks", "talks", "alike", each[0], one, other),
                Asked("weeks", "talks", "alike", each[1], other, one),
            ]
    return sorted(said), asked


def fresh(language: str) -> tuple[list[tuple[str, str, str]], list[Asked]]:
    """Return what was said in two months, ordinary talk and both facts of each pair in it, and one question for each pair."""
    said = [
        ("talks" if role == "user" else "answers", str(FIRST + timedelta(days=int(day))), text)
        for day, role, text in rows(f"{language}.fresh.talk.txt")
    ]
    asked: list[Asked] = []
    for n, (kind, one, other, question) in enumerate(rows(f"{language}.fresh.txt")):
        days = (FIRST + timedelta(days=3 * n % 22), FIRST + timedelta(days=24 + 7 * n % 38))
        said += [("talks", str(day), text) for day, text in zip(days, (one, other), strict=True)]
        right, wrong = (other, one) if kind == "changed" else (one, other)
        asked.append(Asked("weeks", "talks", kind, question, right, wrong))
    return said, asked


def ask(ws: Workspace, one: Asked, now: datetime) -> tuple[bool, bool, bool, bool]:
    """Return whether the right one is the first, is before the other, is shown, and whether both are."""
    found = ws.searcher.search(one.question, now)
    read = input_of(ws, one.question, now)
    shown = passages(inject(read, now, found, config=ws.config, events=ws.events).memory)
    texts = [BLANK.sub("", text) for text in (one.right, one.other)]
    at = [next((n for n, passage in enumerate(shown) if share(text, passage) >= WHOLE), len(shown)) for text in texts]
    both = max(at) < len(shown)
    if one.how == "either":
        return min(at) == 0 and bool(shown), at[0] < at[1], both, both
    return at[0] == 0 and bool(shown), at[0] < at[1], at[0] < len(shown), both


def table(found: list[tuple[Asked, tuple[bool, bool, bool, bool]]]) -> str:
    """Return the shares by what is asked, by kind and by place."""
    groups: dict[str, list[tuple[bool, bool, bool, bool]]] = defaultdict(list)
    for one, right in found:
        if one.kind in ("alike", "weeks"):
            groups[one.how].append(right)
        else:
            for name in (one.how, f"{one.how} · {one.kind}", f"{one.how} · {one.where}"):
                groups[name].append(right)
    lines = ["| asked | n | first | before | hidden | both |", "|---|---|---|---|---|---|"]
    for name, group in sorted(groups.items()):
        first, before = (100 * sum(one[n] for one in group) / len(group) for n in (0, 1))
        hidden, both = sum(not one[2] for one in group), sum(one[3] for one in group)
        lines.append(f"| {name} | {len(group)} | {first:.1f} | {before:.1f} | {hidden} | {both} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--misses",
        action="store_true",
        help="print the questions whose answer is not the first; of fresh also those where both should (not) be shown",
    )
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help="a setting")
    parser.add_argument("--weeks", choices=(*HALVES, FRESH), help="the conversations, and which half of their questions")
    options = parser.parse_args()
    settings = {"RECALLD_RECALL_TIMEOUT_MS": "60000", **environ_of(options.set)}
    now = {None: ASKED, FRESH: AFTER_FRESH}.get(options.weeks, AFTERWARDS)
    for language in ("zh", "en"):
        if options.weeks == FRESH:
            said, asked = fresh(language)
        else:
            said, asked = weeks(language, options.weeks) if options.weeks else pairs(language)
        with tempfile.TemporaryDirectory(prefix="changed-") as folder:
            make(Path(folder), said)
            clock = fixed_clock(now)
            ws = open_workspace(Path(folder), settings, clock, lasting=True)  # by meaning too, as in a supervisor
            ws.searcher.refresh()
            make_vectors(ws, clock)
            if ws.meaning:
                ws.meaning.is_wanted = True
                make_vectors(ws, clock)  # once there are vectors, the model is loaded for questions
            found = [(one, ask(ws, one, now)) for one in asked]
        print(f"\n{language}\n\n{table(found)}", flush=True)
        for one, right in found if options.misses else ():
            if not right[0] or (options.weeks == FRESH and right[3] != (one.how == "changed")):
                shown = ("both" if right[3] else "shown") if right[2] else "HIDDEN"
                print(f"{one.how} {one.where} {shown}: {one.question} → {one.right} ({one.other})")


if __name__ == "__main__":
    main()
