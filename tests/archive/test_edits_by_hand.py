"""What a person does to dated files by hand, and what follows: in answers, in summaries, and in what `forget --removed` means."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path

import pytest

from recalld.supervisor.forgetting.wanted import wanted
from recalld.supervisor.protocol.paths import Period
from tests.world import World, at, message


@dataclass(frozen=True)
class Edit:
    """
    An edit of a file with three messages, of which the second has the word; *found*, *summed* and *offered* say where it is then.

    *told*: `fsck` or `status` names the file.
    """

    says: str
    act: Callable[[Path], None]
    found: bool = True
    summed: bool = True
    offered: bool = False
    told: bool = False


def parts(path: Path) -> list[str]:
    """The head, and the three messages."""
    return path.read_text("utf-8").split("<!-- {")


def put(path: Path, pieces: list[str]) -> None:
    path.write_text("<!-- {".join(pieces), "utf-8")


def keep(*places: int) -> Callable[[Path], None]:
    """Keep the head and these messages, in this order."""
    return lambda path: put(path, [(all_ := parts(path))[0], *(all_[place] for place in places)])


def say(old: str, new: str) -> Callable[[Path], None]:
    """Replace such a piece of the message with the word, WORD."""

    def act(path: Path) -> None:
        pieces, word = parts(path), f"kestrel{path.name[5:7]}{path.name[8:10]}"
        here = old.replace("WORD", word)
        assert here in pieces[2]
        put(path, [*pieces[:2], pieces[2].replace(here, new.replace("WORD", word), 1), *pieces[3:]])

    return act


def anywhere(change: Callable[[str], str]) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(change(path.read_text("utf-8")).encode())


def count(text: str) -> str:
    return text.replace("count: 3", "count: 2")


def counted(path: Path) -> None:
    keep(1)(path)
    anywhere(lambda text: text.replace("count: 3", "count: 1"))(path)


def into_another_day(path: Path) -> None:
    other = next(path.parent.glob("2026-01-01-*.md"))
    put(other, [*parts(other), parts(path)[2]])
    keep(1, 3)(path)


def into_a_folder(path: Path) -> None:
    (path.parents[2] / "private").mkdir(exist_ok=True)
    path.rename(path.parents[2] / "private" / path.name)


GONE = {"found": False, "summed": False, "offered": True}
EDITS = (
    Edit("deleted in the middle", keep(1, 3), **GONE),
    Edit("deleted with the first one", keep(3), **GONE),
    Edit("deleted with the last one", keep(1), told=True, **GONE),
    Edit("deleted with the last one, and counted", counted, **GONE),
    Edit("all messages deleted", keep(), **GONE),
    Edit(
        "all comments deleted", anywhere(lambda text: re.sub(r"(?m)^<!-- .*\n", "", text)), found=False, summed=False, told=True
    ),
    Edit("the last comment deleted", anywhere(lambda text: re.sub(r"(?s)<!-- (?!.*<!-- ).*? -->\n", "", text)), told=True),
    Edit("the words deleted, the comment left", say("WORD is the code, said Ben.", ""), **GONE),
    Edit("the word replaced", say("WORD", "1234"), found=False, summed=False),
    Edit("all other words", say("WORD is the code, said Ben.", "Nothing of note."), found=False, summed=False),
    Edit("a typing error corrected", say("said Ben", "said Benn")),
    Edit("a sentence added", say("said Ben.", "said Ben. It is written on the lid.")),
    Edit("a line added that corrects", say("said Ben.", "said Ben.\n\n更正：是另一个。")),
    Edit("struck as a whole", say("WORD is the code, said Ben.", "~~WORD is the code, said Ben.~~")),
    Edit("struck in part", say(", said Ben", "~~, said Ben~~")),
    Edit("blank lines added", say("WORD is", "\n\nWORD is")),
    Edit("blanks at the end of the line", say("said Ben.", "said Ben.   ")),
    Edit("saved with CRLF", anywhere(lambda text: text.replace("\n", "\r\n"))),
    Edit("saved with a byte order mark", anywhere(lambda text: f"\ufeff{text}")),
    Edit("the comment broken", say(" -->", " --")),
    Edit("only the count changed", anywhere(count)),
    Edit("own words at the end", anywhere(lambda text: f"{text}\nMy own words.\n")),
    Edit("a heading between the messages", say("said Ben.", "said Ben.\n\n## later")),
    Edit("another time of day", say("09:02", "10:02")),
    Edit("another speaker", say("user**", "assistant**")),
    Edit("another id", say('"id": "m', '"id": "x')),
    Edit("the messages in another order", keep(2, 1, 3)),
    Edit("the message twice", keep(1, 2, 2, 3), told=True),
    Edit("moved to the file of another day", into_another_day, summed=False),
    Edit("the file deleted", lambda path: path.unlink(), told=True),
    Edit("the file renamed", lambda path: path.rename(path.with_name(f"{path.name[:10]}-mine.md"))),
    Edit("the file moved to a folder", into_a_folder),
    Edit("the file emptied", lambda path: path.write_bytes(b""), told=True),
)


@pytest.mark.proof
def test_edits_by_hand_have_the_consequences_of_this_table(tmp_path: Path) -> None:
    world = World(tmp_path / "w", at("2026-02-10T10:00"))
    days = [(date(2026, 1, 1) + timedelta(n)).isoformat() for n in range(len(EDITS))]
    for day in days:
        said = ("早上好，我们开始吧。", f"kestrel{day[5:7]}{day[8:]} is the code, said Ben.", "好的，就这样。")
        world.add(*(message(f"m-{day}-{n}", f"{day}T09:0{n + 1}", text) for n, text in enumerate(said)))
    world.settle()
    for day, edit in zip(days, EDITS, strict=True):
        edit.act(next((world.root / "memory" / "originals").rglob(f"{day}-*.md")))
    world.settle()
    world.refresh()
    offered = {key[0] for key in wanted(world.ws, "removed", "", world.clock()).messages}
    damage, summaries = "\n".join([*world.fsck().damage, *world.fsck().lost, *world.verdict()[0]]), world.ws.memory.summaries()
    found = []
    for day, edit in zip(days, EDITS, strict=True):
        word, summary = f"kestrel{day[5:7]}{day[8:]}", summaries.get(Period(day))
        found.append(
            replace(
                edit,
                found=any(word in text for text in world.found_texts(f"which code is {word}?")),
                summed=summary is not None and word in summary.text,
                offered=f"m-{day}-1" in offered,
                told=day in damage,
            )
        )
    assert [(one, edit) for one, edit in zip(found, EDITS, strict=True) if one != edit] == []
