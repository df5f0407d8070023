"""
How much of the answer is in what is put before the assistant.

    python -m bench.recall                                  our own questions, both sets (questions/), both layouts
    python -m bench.recall --data DIR [--layout history]    questions with gold messages, one folder of workspaces
    python -m bench.recall --set recall.max_hits=0 --set recall.hit=line
    python -m bench.recall --set recall.backend=bm25        by words alone, as a command finds without a supervisor

DIR holds `*.jsonl` (qid, dataset, category, ws, question, evidence: lists of ids of which one is enough, asked_at, and where
the question refers back, before: what was said just before it) and `workspaces/<ws>/history.json`. Layout `files`
has a plain Markdown file a day and measures the search alone; `history` has recalld archive and roll up everything first. A
message counts as found when at least 90 % of its characters are in the block, by runs of ten, white space ignored; what it has
of secrets may be hidden there. Figures
are means over questions, in percent; the folds are those of every other workspace.

"1024" and "512" are the same in blocks of so many tokens. "said" is the share of the answer's words, those that the question does
not have, that are anywhere in the block: it counts excerpts, which "full" does not. "best" is how often the passage with the best
score holds the answer, "first" how often the first one shown does, "asked" the share of the passages shown that do. "now" is how often
what is true now is shown before what was (`outdated`, ids of a question, are messages that a later one has made untrue).

What is put before the assistant where memory has nothing is noise: "blocks" are the questions in a hundred that get any. Those
without evidence are of that kind (negatives), and so is every fourth question asked in the next workspace of its kind (foreign).
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from bench.served import settle
from recalld.supervisor.context.build import inject, read_input
from recalld.supervisor.context.memory_block import pack  # noqa: F401 - a broken packing should fail here, not question by question
from recalld.supervisor.context.render import BETWEEN, FENCE
from recalld.supervisor.context.request import Asked
from recalld.supervisor.host.jobs import make_vectors
from recalld.supervisor.protocol.message import Message, read_message
from recalld.supervisor.storage.clock import fixed_clock, from_wire
from recalld.supervisor.text.llm_input import estimate_tokens
from recalld.supervisor.text.redact import HIDDEN, redacted
from recalld.supervisor.text.tokenizer import tokens
from recalld.supervisor.workspace import Workspace, open_workspace

HERE = Path(__file__).parent
BLANK = re.compile(r"\s+")
RUN = 10
WHOLE = 0.9
FOREIGN = 4
SMALLER = (1024, 512)
#: The tag of an entry with its day; who speaks.
TAG = re.compile(r"\[[^\]\n]*\](?: ?[(（][^)）\n]*[)）])?[ \n]?")
SPEAKER = re.compile(r"(?:\d\d:\d\d )?(?:(?:user|assistant|system|tool|用户|助手|系统|工具)(?: [^:\n]{0,20})?: ?)?")


def share(message: str, block: str) -> float:
    """Return the share of the message's characters that are in the block, by runs of ten."""
    message = BLANK.sub("", message)
    if message in block:
        return 1.0
    there = [message[n : n + RUN] in block for n in range(len(message) - RUN + 1)]
    covered = {n + k for n, stands in enumerate(there) if stands for k in range(RUN)}
    return len(covered) / len(message)


def environ_of(settings: list[str]) -> dict[str, str]:
    """Return the environment variables of settings as they are typed, "recall.max_hits=0"."""
    return {f"RECALLD_{key.replace('.', '_').upper()}": value for key, _, value in (one.partition("=") for one in settings)}


def questions_of(data: Path, datasets: list[str]) -> list[dict[str, Any]]:
    found = []
    for path in sorted(data.glob("*.jsonl")):
        found += [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [one for one in found if not datasets or one["dataset"] in datasets]


def foreign_of(questions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return every fourth question as it is asked in the next workspace of its kind, where nothing answers it."""
    kinds: dict[str, list[str]] = defaultdict(list)
    for name in sorted({one["ws"] for one in questions}):
        kinds[_kind(name)].append(name)
    found = []
    for one in [one for one in questions if one["evidence"]][::FOREIGN]:
        names = kinds[_kind(one["ws"])]
        other = names[(names.index(one["ws"]) + 1) % len(names)]
        if other != one["ws"]:
            found.append({**one, "dataset": f"foreign {_kind(one['ws'])}".strip(), "ws": other, "evidence": []})
    return found


def _kind(workspace: str) -> str:
    return workspace.rpartition("-")[0]


def prepare(history: Path, root: Path, layout: str, zone: ZoneInfo, asked_at: str) -> None:
    """Make the workspace at *root* in that layout."""
    (root / "memory").mkdir(parents=True)
    (root / "recalld.toml").write_text(f'[archive]\ntimezone = "{zone.key}"\n')
    messages = json.loads(history.read_text(encoding="utf-8"))
    if layout == "files":
        days: dict[str, list[str]] = defaultdict(list)
        for message in messages:
            at = from_wire(message["createdAt"]).astimezone(zone)
            days[at.date().isoformat()].append(f"- {at:%H:%M} {message['role']}: {message['text']}\n")
            message["archived"] = True
        for day, lines in days.items():
            (root / "memory" / f"{day}-chat.md").write_text(f"# {day}\n\n{''.join(lines)}", encoding="utf-8")
    (root / "history.json").write_text(json.dumps(messages, ensure_ascii=False), encoding="utf-8")
    if layout == "history" and settle(root, asked_at):
        sys.exit(f"{root} could not be prepared")


def opened(root: Path, settings: dict[str, str], at: str) -> Workspace:
    """Return the workspace as a supervisor has it at that moment: with its index, its vectors and the model that makes them."""
    clock = fixed_clock(datetime.fromisoformat(at))
    ws = open_workspace(root, settings, clock, lasting=True)
    ws.searcher.refresh()
    if why := make_vectors(ws, clock)[1]:
        sys.exit(f"{why}")
    if ws.meaning:
        ws.meaning.is_wanted = True
        make_vectors(ws, clock)  # once there are vectors, the model is loaded for questions
    return ws


def passages(block: str) -> list[str]:
    """Return the passages that a memory block shows, in its order, without tags, speakers and white space."""
    found: list[str] = []
    fenced: list[str] | None = None
    for line in block.split("\n"):
        if line == FENCE:
            if fenced is not None:
                found.append("\n".join(fenced))
            fenced = [] if fenced is None else None
        elif fenced is not None:
            fenced.append(line)
        elif line.startswith("["):
            found += [one for one in TAG.sub("", line, count=1).split(BETWEEN) if SPEAKER.sub("", one)]
    return [BLANK.sub("", SPEAKER.sub("", one, count=1)).strip("…") for one in found]


def input_of(ws: Workspace, question: str, now: datetime) -> Asked:
    """Return the question as a turn reads it."""
    return read_input(
        question,
        history=ws.history,
        groups=ws.groups,
        now=now,
        files=ws.files,
        paths=ws.paths,
        zone=ws.zone,
        events=ws.events,
    )


def ask(ws: Workspace, question: dict[str, Any], texts: dict[str, str]) -> dict[str, float]:
    now = datetime.fromisoformat(question["asked_at"])
    raw = [{"id": f"before-{n}", "role": "user", "text": text} for n, text in enumerate(question.get("before", ()))]
    before = [message for one in raw if isinstance(message := read_message(one, ws.zone), Message)]
    began = time.perf_counter()
    found = ws.searcher.search(question["question"], now, before, is_input=True)
    took = (time.perf_counter() - began) * 1000
    asked = input_of(ws, question["question"], now)

    def block(tokens: int) -> str:
        config = replace(ws.config, recall=replace(ws.config.recall, memory_tokens=tokens))
        return inject(asked, now, found, config=config, events=ws.events).memory

    shown = block(ws.config.recall.memory_tokens)
    noise = {"empty": float(not shown), "tokens": estimate_tokens(shown), "ms": took}
    if not question["evidence"]:
        return noise
    evidence = [[form for one in either for form in _as_shown(texts[one])] for either in question["evidence"]]
    shares = _shares(evidence, shown)
    full = [found >= WHOLE for found in shares]
    over = float(estimate_tokens(shown) > ws.config.recall.memory_tokens)
    best = [found.hits[0].unit.text] if found.hits else []
    answer = [text for either in evidence for text in either]
    outdated = [texts[one] for one in question.get("outdated", ())]
    return {
        "full": statistics.mean(full),
        "all": float(all(full)),
        "any": float(any(full)),
        "over": over,
        **{str(tokens): statistics.mean(found >= WHOLE for found in _shares(evidence, block(tokens))) for tokens in SMALLER},
        "said": statistics.mean(max(_said(text, question["question"], shown) for text in either) for either in evidence),
        "best": float(any(share(text, BLANK.sub("", best[0])) >= WHOLE for text in answer)) if best else 0.0,
        **_order(passages(shown), answer, outdated),
        **noise,
    }


def _as_shown(text: str) -> list[str]:
    """Return the forms in which a message is shown: as it is, and with its secrets hidden."""
    return list(dict.fromkeys([text, *(redacted(text, mark) for mark in HIDDEN.values())]))


def _shares(evidence: list[list[str]], block: str) -> list[float]:
    bare = BLANK.sub("", block)
    return [max(share(text, bare) for text in either) for either in evidence]


def _said(text: str, question: str, block: str) -> float:
    words = set(tokens(text)) - set(tokens(question))
    return len(words & set(tokens(block))) / len(words) if words else 1.0


def _order(shown: list[str], answer: list[str], outdated: list[str]) -> dict[str, float]:
    """Return whether the first passage is of the answer, how many are, of how many, and whether it is before what was true."""

    def is_of(passage: str, texts: list[str]) -> bool:
        return any(share(passage, BLANK.sub("", text)) >= WHOLE for text in texts)

    asked = [is_of(one, answer) for one in shown]
    figures = {"first": float(asked[0]) if shown else 0.0, "asked": float(sum(asked)), "passages": float(len(shown))}
    if outdated:
        true_now = next((n for n, is_asked in enumerate(asked) if is_asked), len(shown))
        was_true = next((n for n, one in enumerate(shown) if is_of(one, outdated)), len(shown))
        figures["now"] = float(true_now < was_true)
    return figures


Rows = list[tuple[dict[str, Any], dict[str, float]]]


def table(rows: Rows) -> str:
    """Return a table of what was found, with both folds of the sets, and one of the noise."""
    kinds: dict[str, list[str]] = defaultdict(list)
    for name in sorted({question["ws"] for question, _ in rows}):
        kinds[_kind(name)].append(name)
    fold_of = {name: n % 2 for names in kinds.values() for n, name in enumerate(names)}
    found, noise = (
        _grouped([row for row in rows if row[0]["evidence"]]),
        _grouped([row for row in rows if not row[0]["evidence"]]),
    )
    lines = [
        "| questions | n | full | folds | 1024 | 512 | said | all | any | best | first | asked | now | empty | over | tokens | ms |",
        f"|{'---|' * 17}",
    ]
    for name, group in found.items():
        halves = [[row for row in group if fold_of[row[0]["ws"]] == fold] for fold in (0, 1)]
        shown = sum(figures["passages"] for _, figures in group) or 1.0
        changed = [row for row in group if "now" in row[1]]
        line = [
            name,
            str(len(group)),
            _percent(group, "full"),
            " / ".join(_percent(half, "full") for half in halves if half),
            *(_percent(group, figure) for figure in ("1024", "512", "said", "all", "any", "best", "first")),
            f"{100 * sum(figures['asked'] for _, figures in group) / shown:.1f}",
            _percent(changed, "now") if changed else "",
            *(_percent(group, figure) for figure in ("empty", "over")),
            f"{_mean(group, 'tokens'):.0f}",
            f"{_mean(group, 'ms'):.1f}",
        ]
        lines.append(f"| {' | '.join(line)} |")
    lines += ["", "| noise | n | blocks | tokens | ms |", "|---|---|---|---|---|"] if noise else []
    for name, group in noise.items():
        blocks = f"{100 - 100 * _mean(group, 'empty'):.1f}"
        lines.append(f"| {name} | {len(group)} | {blocks} | {_mean(group, 'tokens'):.0f} | {_mean(group, 'ms'):.1f} |")
    return "\n".join(lines)


def _grouped(rows: Rows) -> dict[str, Rows]:
    groups: dict[str, Rows] = defaultdict(list)
    for question, figures in rows:
        names = {question["dataset"].partition(" ")[0], question["dataset"]}
        if question["evidence"]:
            names.add(f"{question['dataset']} · {question['category']}")
        for name in names:
            groups[name].append((question, figures))
    return dict(sorted(groups.items()))


def _percent(rows: Rows, figure: str) -> str:
    return f"{100 * _mean(rows, figure):.1f}"


def _mean(rows: Rows, figure: str) -> float:
    return statistics.mean(figures[figure] for _, figures in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder of questions and workspaces; default: our own")
    parser.add_argument("--layout", choices=("files", "history", "both"), default="")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help="a setting")
    parser.add_argument("--dataset", action="append", default=[])
    parser.add_argument("--zone", default="", help="time zone of the workspaces; default: UTC, of our own Asia/Shanghai")
    parser.add_argument("--root", type=Path, help="keep the workspaces here, and use those that are there")
    options = parser.parse_args()
    layouts = ("files", "history") if options.layout in ("", "both") else (options.layout,)
    zone = ZoneInfo(options.zone or ("UTC" if options.data else "Asia/Shanghai"))
    settings = environ_of(options.set)
    data = [options.data] if options.data else [HERE / "questions", HERE / "questions/second"]
    home = data[-1] / "workspaces"
    questions = [one for folder in data for one in questions_of(folder, options.dataset)]
    asked = {one["ws"]: one["asked_at"] for one in questions}
    questions += foreign_of(questions)
    for layout in layouts if not options.data or options.layout else ("files",):
        root = (options.root or Path(tempfile.mkdtemp(prefix="recall-"))) / layout
        rows = []
        for name, at in asked.items():
            history = home / name / "history.json"
            if not (root / name).is_dir():
                prepare(history, root / name, layout, zone, at)
            texts = {one["id"]: one["text"] for one in json.loads(history.read_text(encoding="utf-8"))}
            ws = opened(root / name, settings, at)
            rows += [(one, ask(ws, one, texts)) for one in questions if one["ws"] == name]
        print(f"\nlayout {layout} {' '.join(options.set)}\n\n{table(rows)}", flush=True)
        if not options.root:
            shutil.rmtree(root.parent)


if __name__ == "__main__":
    main()
