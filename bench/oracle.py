"""
What a member of a group can ask out of a private memory beside it: by the answers, and by the time that they take.

    python -m bench.oracle                          two memories, 12,000 questions through every interface; some six minutes
    python -m bench.oracle --worlds 1 --rounds 1    one memory, 200 words once an interface

In each memory 200 words that the group never said: half of them, drawn by chance, are in private messages, lines, names of
days and names of notes, the others nowhere. The member asks for each word, in an order drawn by chance, and knows of one half
of the words whether they are private; of the other half it has to tell, by the answer (with the word itself taken out) that most
known words of that kind got, or by whether it took longer than most. Then the halves change places. Half right is chance; the interval is Wilson's, 95 %.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import math
import random
import statistics
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from recalld import Memory, SupervisorError, register_all_tools
from recalld.supervisor.host.round import run_round
from recalld.supervisor.interfaces.cli.call import Call
from recalld.supervisor.interfaces.cli.main import run_command
from recalld.supervisor.interfaces.locate import folder_id
from recalld.supervisor.interfaces.serve import Answers
from recalld.supervisor.interfaces.socket_server import Request
from recalld.supervisor.protocol.config import make_workspace
from recalld.supervisor.storage.clock import fixed_clock, from_wire
from recalld.supervisor.workspace import open_workspace

GROUP = {"session": "telegram:group:-1001", "chat": "group"}
NOW = "2026-03-31T02:00:00.000Z"
WORDS = 200
#: Words that the group and its owner say, and the syllables of those that are asked for.
COMMON = "cabin bicycle charcoal key mailbox hike sunday soup train garden letter window market river coffee".split()
SYLLABLES = "bra ken tol mir vex dan sul pom rit gal fen zur lod qui nas wem".split()


def made_words(chance: random.Random) -> list[str]:
    """Return words that nobody has said, each once."""
    found: dict[str, None] = {}
    while len(found) < WORDS:
        found["".join(chance.choice(SYLLABLES) for _ in range(3))] = None
    return list(found)


def sentence(chance: random.Random) -> str:
    return " ".join(chance.choice(COMMON) for _ in range(12))


def made_memory(root: Path, private: Sequence[str], chance: random.Random) -> Memory:
    """Return a memory in which the group has said 300 things and its owner 2,000, each private word three times."""
    make_workspace(root, {"RECALLD_ARCHIVE_TIMEZONE": "UTC"})
    said = [(sentence(chance), GROUP) for _ in range(300)]
    said += [(sentence(chance), {}) for _ in range(2_000 - 3 * len(private))]
    said += [(f"{sentence(chance)} {word} {sentence(chance)}", {}) for word in private for _ in range(3)]
    chance.shuffle(said)
    history = [
        {"id": f"m{n}", "role": "user", "text": text, "createdAt": f"2026-{1 + n * 80 // len(said) // 31:02}-"
         f"{1 + n * 80 // len(said) % 28:02}T{8 + n % 12:02}:{n % 60:02}:00Z", **more}
        for n, (text, more) in enumerate(said)
    ]  # fmt: skip
    (root / "history.json").write_text(json.dumps(history), encoding="utf-8")
    lines = [f"2026-01-20|web-chat|{sentence(chance)} {word}" for word in private]
    (root / "memory.md").write_text("\n".join(["the key is in the mailbox #shared", *lines, ""]), encoding="utf-8")
    ws = open_workspace(root, {}, fixed_clock(from_wire(NOW)))
    ws.prepare()
    run_round(ws, from_wire(NOW), "all")
    for word in private:
        (root / "memory" / f"{word}.md").write_text(f"{word} {sentence(chance)}\n", encoding="utf-8")
    ws.searcher.refresh(10.0)
    return Memory(ws, clock=fixed_clock(from_wire(NOW)), keep_fresh=False)


# ── the interfaces ───────────────────────────────────────────────────────────


def interfaces(memory: Memory) -> Mapping[str, Callable[[str], str]]:
    """Return each way to ask for a word, by name; it returns all that is answered."""
    ws = memory.workspace
    answers, tools = Answers(lambda: ws), register_all_tools(memory, **GROUP, allow_delete=True, language="en")

    def operation(name: str, **request: object) -> str:
        asked = Request(name, request, {**GROUP, "language": "en", "now": NOW}, folder_id(str(ws.paths.root)))
        found = answers.answer(asked)
        (found.get("answer") or {}).pop("ms", None) if isinstance(found.get("answer"), dict) else None
        return json.dumps(found)

    def tool(name: str, **arguments: object) -> str:
        return tools.call(name, arguments).text

    def command(*argv: str) -> str:
        told = io.StringIO()
        who = ("--session", GROUP["session"], "--chat", "group")
        with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
            code = run_command(Call(["-w", str(ws.paths.root), "--now", NOW, *argv, *who], {"LANG": "en_US.UTF-8"}))
        return f"{code} {told.getvalue()}"

    def python(word: str) -> str:
        try:
            return str([(hit.unit.path, hit.score) for hit in memory.search(f"repair {word}", **GROUP)])
        except SupervisorError as error:
            return str(error)

    return {
        "search": lambda word: operation("search", query=word),
        "search with another word": lambda word: operation("search", query=f"cabin {word}"),
        "search a typo": lambda word: operation("search", query=f"{word[:-1]} key"),
        "search by Python": python,
        "inject": lambda word: operation("inject", question=f"where is the {word}?"),
        "context": lambda word: operation("context", question=f"where is the {word}?"),
        "get a note": lambda word: operation("get", path=f"memory/{word}.md"),
        "get a day": lambda word: operation("get", path=f"memory/2026-01-05-{word}.md"),
        "get a message": lambda word: operation("get", path=f"history.json#{word}"),
        "delete": lambda word: operation("delete", lines=[f"1@{word.encode().hex()[:8]}"]),
        "memory_search": lambda word: tool("memory_search", query=word),
        "memory_search for lines": lambda word: tool("memory_search", keywords=word),
        "memory_get": lambda word: tool("memory_get", path=f"memory/{word}.md"),
        "recalld search": lambda word: command("search", word, "--json"),
        "recalld get": lambda word: command("get", f"memory/{word}.md"),
    }


def asked(
    memory: Memory, words: Sequence[str], rounds: int, chance: random.Random
) -> dict[str, dict[str, list[tuple[str, float]]]]:
    """Return the answers with their seconds, by interface and word."""
    found: dict[str, dict[str, list[tuple[str, float]]]] = {}
    for name, ask in interfaces(memory).items():
        for word in words[:5]:
            ask(word)
        took: defaultdict[str, list[tuple[str, float]]] = defaultdict(list)
        for _ in range(rounds):
            for word in chance.sample(words, len(words)):
                began = time.perf_counter()
                answer = ask(word)
                seconds = time.perf_counter() - began
                took[word].append(
                    (answer.replace(word, "…").replace(word[:-1], "…").replace(word.encode().hex()[:8], "…"), seconds)
                )
        found[name] = took
    return found


# ── what can be told ─────────────────────────────────────────────────────────


def right_by_answer(known: Mapping[str, Sequence[str]], hidden: Mapping[str, Sequence[str]], private: set[str]) -> int:
    """Return of how many hidden words it is told right whether they are private, by the answers of the known ones."""
    said: defaultdict[str, Counter[bool]] = defaultdict(Counter)
    for word, answers in known.items():
        said["".join(answers)][word in private] += 1
    return sum(
        (said["".join(answers)][True] > said["".join(answers)][False]) == (word in private) for word, answers in hidden.items()
    )


def right_by_time(known: Mapping[str, float], hidden: Mapping[str, float], private: set[str]) -> int:
    """Return of how many hidden words it is told right, by the limit and the side of it that fit the known ones best."""
    best, limit, is_above = -1, 0.0, True
    for at in known.values():
        above = sum((seconds >= at) == (word in private) for word, seconds in known.items())
        for count, side in ((above, True), (len(known) - above, False)):
            if count > best:
                best, limit, is_above = count, at, side
    return sum(((seconds >= limit) == is_above) == (word in private) for word, seconds in hidden.items())


def interval(right: int, of: int) -> tuple[float, float]:
    """Return Wilson's interval of a share, 95 %."""
    z, share = 1.96, right / of
    middle, width = share + z * z / (2 * of), z * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return (middle - width) / (1 + z * z / of), (middle + width) / (1 + z * z / of)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2, help="how often each word is asked for through each interface")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    answers: Counter[str] = Counter()
    times: Counter[str] = Counter()
    questions = 0
    for world in range(given.worlds):
        chance = random.Random(given.seed + world)
        words = made_words(chance)
        private = set(chance.sample(words, WORDS // 2))
        with tempfile.TemporaryDirectory() as folder:
            found = asked(made_memory(Path(folder) / "w", sorted(private), chance), words, given.rounds, chance)
        halves = words[: WORDS // 2], words[WORDS // 2 :]
        for name, took in found.items():
            questions += sum(map(len, took.values()))
            for known, hidden in (halves, halves[::-1]):
                said = [{word: [answer for answer, _ in took[word]] for word in half} for half in (known, hidden)]
                answers[name] += right_by_answer(*said, private)
                # the least: what else the machine did only adds
                least = [{word: min(seconds for _, seconds in took[word]) for word in half} for half in (known, hidden)]
                times[name] += right_by_time(*least, private)
    of = given.worlds * WORDS
    print(f"{questions:,} questions, {of} words; right of 100, with the interval of 95 %")
    print(f"{'':28}{'by answer':>20}{'by time':>20}")
    for name in answers:
        told = (
            f"{100 * right / of:5.1f} ({100 * low:.1f}–{100 * high:.1f})"
            for right in (answers[name], times[name])
            for low, high in [interval(right, of)]
        )
        print(f"{name:28}" + "".join(f"{one:>20}" for one in told))
    right, every = sum(times.values()), of * len(times)
    low, high = interval(right, every)
    print(
        f"{'all, by time':28}{f'{100 * right / every:.1f} ({100 * low:.1f}–{100 * high:.1f})':>40}; median {statistics.median(times.values()) / of:.1%}"
    )


if __name__ == "__main__":
    main()
