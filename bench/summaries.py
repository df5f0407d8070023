"""
How good the summaries are: what they keep, what they say wrongly or invent, what they cost; those of a model beside the extracts.

    python -m bench.summaries [--model NAME --server URL] [--only zh-xuning …] [--kinds day month line running] [--out FILE]
    python -m bench.summaries --read FILE
    python -m bench.summaries --questions [--data DIR] [--days 60] [--keep DIR] [--json]

By default the stories of bench/questions/summaries are archived and summarised by the product, without a model and then with NAME at
the OpenAI-compatible server URL. Their facts are found by the words that a person marked (bench/facts.py), so that the figures repeat;
what the model answers is kept in --answers, and the same prompt asks it once. A row counts the summaries that were accepted: facts kept,
beside those in the extracts of the same material; what is said wrongly and what has no source (bench/pieces.py), in percent of all that
is told; characters beside the extracts'; the share that is copied; transcripts and forms; calls, tokens and seconds of all answers.
--out keeps every text with its figures, a JSON object a line, and --read counts again.

With --questions, what of the messages that answer questions is in the summaries alone. DIR holds *.questions.jsonl (ws, evidence: lists of
message ids of which one is enough, asked_at, dataset) and workspaces/<ws>/history.json; without --data it is the project's own workspace/,
with the questions of bench/questions/. RECALLD_* variables reach the product. Of the distinct facts whose day or month is summarised, in
percent: whole, at least 90 % of a message's characters are in the summary of its day or month, in runs of ten; sentence, one of its telling
sentences stands there whole; words, of its names, numbers and rare words that many stand there. open: facts that no summary covers, because
they are young or their group waits. Tokens are estimates; calls, prompt and completion tokens are what the provider reported on the last
local day.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from collections.abc import Iterator, Mapping, Sequence

from bench.facts import FOLDER
from bench.measures import WHOLE, Ground, WindowMessage, covered, says_a_sentence, told
from bench.months import by_facts
from bench.pieces import bare, pieces
from bench.served import settle
from recalld.supervisor.archive.memory_folder import MemoryFolder
from recalld.supervisor.protocol.paths import WorkspacePaths
from recalld.supervisor.protocol.queue import TaskQueue
from recalld.supervisor.storage.disk import RealDisk
from recalld.supervisor.storage.files import Files
from recalld.supervisor.text.llm_input import estimate_tokens
from recalld.supervisor.text.tokenizer import tokens

ROOT: Final = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Made:
    """A standing summary: its *text* without the line that says what it is, and by id the messages it was made from."""

    period: str
    kind: str
    text: str
    said: dict[str, WindowMessage]


@dataclass
class Tally:
    """What is counted over summaries; sums, so that tallies add up."""

    summaries: int = 0
    facts: int = 0
    open: int = 0
    whole: int = 0
    sentence: int = 0
    words: float = 0.0
    worded: int = 0  # facts that have telling words
    pieces: int = 0
    chars_in: int = 0
    chars_out: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    invented: list[str] = field(default_factory=list)

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__))


def made(root: Path) -> list[Made]:
    """Return the standing summaries of a workspace, by period."""
    store = MemoryFolder(Files(RealDisk()), WorkspacePaths(root))
    found = []
    for period in sorted(store.summaries()):
        summary = store.read_summary(period)[1]
        if summary is None:
            continue
        zone = ZoneInfo(summary.zone)
        blocks = [block for source in summary.sources for block in store.blocks(source.name)]
        text = summary.text.partition("\n")[2] if summary.extract else summary.text
        text = "" if summary.empty else text  # facts that it took for nothing are lost
        said = {block.id: WindowMessage(block.created_at.astimezone(zone), block.text) for block in blocks}
        found.append(Made(period.label, period.kind, text, said))
    return found


def tally(summaries: Sequence[Made], facts: Sequence[Sequence[str]]) -> Tally:
    """Return what these summaries keep of the facts, each a list of message ids of which one is enough, and what they invent."""
    total = Tally(summaries=len(summaries))
    for one in summaries:
        ground, checked = Ground(one.said.values()), pieces(one.text)
        total.pieces += len(checked)
        total.invented += [f"{one.period} {piece.kind} {piece.text}" for piece in checked if not ground.holds(piece)]
        material = "\n".join(said.text for said in one.said.values())
        total.chars_in, total.chars_out = total.chars_in + len(material), total.chars_out + len(one.text)
        total.tokens_in, total.tokens_out = (
            total.tokens_in + estimate_tokens(material),
            total.tokens_out + estimate_tokens(one.text),
        )
    texts = [(one.said, bare(one.text), set(tokens(one.text))) for one in summaries]
    for fact in facts:
        places = [(said[i].text, text, words) for said, text, words in texts for i in fact if i in said]
        if not places:
            total.open += 1
            continue
        total.facts += 1
        total.whole += any(covered(bare(message), text) >= WHOLE for message, text, _ in places)
        total.sentence += any(says_a_sentence(message, text) for message, text, _ in places)
        shares = [share for message, _, words in places if (share := told(message, words)) is not None]
        total.words, total.worded = total.words + max(shares, default=0.0), total.worded + bool(shares)
    return total


def conversations(data: Path | None) -> Iterator[tuple[str, str, Path, list[dict[str, Any]]]]:
    """Yield each conversation: data set, workspace, its history.json, the questions about it."""
    if data is None:
        asked = [question for path in sorted((ROOT / "bench" / "questions").glob("*.jsonl")) for question in _lines(path)]
        yield "workspace", "workspace", ROOT / "workspace" / "history.json", asked
        return
    for path in sorted(data.glob("*.questions.jsonl")):
        asked = _lines(path)
        for ws in dict.fromkeys(question["ws"] for question in asked):
            about = [question for question in asked if question["ws"] == ws]
            yield about[0].get("dataset", path.stem), ws, data / "workspaces" / ws / "history.json", about


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def measured(root: Path, history: Path, asked: list[dict[str, Any]], days: int | None) -> dict[str, Tally]:
    """Return what the summaries of one conversation, made in *root*, are worth: of days, of months, of all."""
    if not (root / "history.json").exists():
        root.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(history, root / "history.json")
    last = max(datetime.fromisoformat(message["createdAt"]) for message in json.loads(history.read_bytes()))
    times = [datetime.fromisoformat(question["asked_at"]) for question in asked if days is None and "asked_at" in question]
    now = max(times, default=last + timedelta(days=7 if days is None else days)).astimezone(UTC)
    code = settle(root, now.isoformat(), {"RECALLD_SUMMARIZE_LEAST": "0", **os.environ})  # short days, too
    if code:
        print(f"{root.name}: recalld ended with {code}; what it made is measured", file=sys.stderr)
    facts = list(dict.fromkeys(tuple(ids) for question in asked for ids in question["evidence"]))
    summaries = made(root)
    found = {kind: tally([one for one in summaries if one.kind == kind], facts) for kind in ("day", "month")}
    found["all"] = tally(summaries, facts)
    spent = TaskQueue(Files(RealDisk()), WorkspacePaths(root)).recorded("provider")
    for name, key in (("calls", "calls"), ("prompt_tokens", "promptTokens"), ("completion_tokens", "completionTokens")):
        setattr(found["all"], name, spent.get(key, 0))
    return found


def _table(rows: Mapping[tuple[str, str], Tally]) -> Iterator[str]:
    yield (
        f"{'data set':14} {'kind':5} {'made':>5} {'facts':>6} {'open':>5} {'whole':>6} {'sent.':>6} {'words':>6} {'pieces':>7} {'invented':>8}"
        f" {'chars in':>9} {'out':>8} {'%':>5} {'tokens in':>9} {'out':>8} {'calls':>6} {'prompt':>8} {'answer':>8}"
    )
    for (name, kind), row in rows.items():
        whole, sentence = (100 * part / max(1, row.facts) for part in (row.whole, row.sentence))
        yield (
            f"{name:14} {kind:5} {row.summaries:5} {row.facts:6} {row.open if kind == 'all' else '':>5} {whole:6.1f} {sentence:6.1f}"
            f" {100 * row.words / max(1, row.worded):6.1f} {row.pieces:7} {len(row.invented):8} {row.chars_in:9} {row.chars_out:8}"
            f" {100 * row.chars_out / max(1, row.chars_in):5.1f} {row.tokens_in:9} {row.tokens_out:8}"
            + (f" {row.calls:6} {row.prompt_tokens:8} {row.completion_tokens:8}" if kind == "all" else "")
        )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--model", default="", help="the name by which the server knows it")
    options.add_argument("--server", default="http://127.0.0.1:8080/v1")
    options.add_argument("--stories", type=Path, default=FOLDER, help="a folder of stories, for days and months")
    options.add_argument("--only", nargs="+", default=[], help="stories of bench/questions/summaries")
    options.add_argument("--kinds", nargs="+", default=["day", "month", "line", "running"])
    options.add_argument("--answers", type=Path, help="a file with the answers of the model, which grows")
    options.add_argument("--out", type=Path, help="a file for the texts and their figures")
    options.add_argument("--read", type=Path, help="such a file, to count again")
    options.add_argument("--export", type=Path, help="a folder for the stories and forty questions, for bench.recall --data")
    options.add_argument("--questions", action="store_true", help="by questions and the messages that answer them")
    options.add_argument("--data", type=Path)
    options.add_argument("--days", type=int, help="days after the last message; default: when the questions are asked, else 7")
    options.add_argument("--limit-workspaces", type=int, help="so many of each data set")
    options.add_argument("--keep", type=Path, help="make the workspaces here and leave them; those that stand here go on")
    options.add_argument("--json", action="store_true")
    found = options.parse_args()
    if not (found.questions or found.data):
        by_facts(found)
        return
    rows: dict[tuple[str, str], Tally] = {}
    taken: dict[str, int] = {}
    with tempfile.TemporaryDirectory(prefix="summaries-") as folder:
        for name, ws, history, asked in conversations(found.data):
            taken[name] = taken.get(name, 0) + 1
            if found.limit_workspaces and taken[name] > found.limit_workspaces:
                continue
            for kind, counts in measured((found.keep or Path(folder)).resolve() / ws, history, asked, found.days).items():
                counts.invented = [f"{ws} {piece}" for piece in counts.invented]
                rows[name, kind] = rows.get((name, kind), Tally()) + counts
    if found.json:
        print(
            json.dumps(
                [{"dataset": name, "kind": kind, **asdict(row)} for (name, kind), row in rows.items()], ensure_ascii=False
            )
        )
        return
    print(*_table(rows), sep="\n")
    for piece in [piece for (_, kind), row in rows.items() if kind == "all" for piece in row.invented][:40]:
        print("invented:", piece)


if __name__ == "__main__":
    main()
