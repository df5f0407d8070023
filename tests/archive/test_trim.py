"""Which messages leave history.json so that it keeps its size."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.archive.flags import Caps, trim
from recalld.supervisor.protocol.message import Archived, History, Message
from tests.archive.states import HISTORIES, NOON, parsed_message


def talk(count: int, archived: object = True, first: int = 0, text: str = "第 {} 句") -> list[Message]:
    return [parsed_message(f"m{n}", text.format(n), NOON + timedelta(minutes=n), archived) for n in range(first, first + count)]


def everything(_message: Message) -> bool:
    return True


def nothing(_message: Message) -> bool:
    return False


def ids(history: History) -> list[str]:
    return [entry.id for entry in history if isinstance(entry, Message)]


@pytest.mark.feature("003.3")
def test_trim_removes_the_oldest_above_200_messages():
    assert trim(tuple(talk(200)), everything, Caps()) == tuple(talk(200))
    assert ids(trim(tuple(talk(201)), everything, Caps())) == ids(tuple(talk(200, first=1)))


@pytest.mark.feature("003.3")
@pytest.mark.parametrize("archived", [False, "pending"])
def test_trim_above_the_soft_limit_removes_only_archived_messages(archived):
    history = (*talk(150, archived), *talk(150, first=150))
    left = trim(history, everything, Caps())
    assert ids(left) == [*(f"m{n}" for n in range(150)), *(f"m{n}" for n in range(250, 300))]


@pytest.mark.feature("003.5")
@pytest.mark.parametrize("archived", [False, "pending", True])
def test_trim_never_removes_an_unwritten_message(archived):
    history = tuple(talk(400, archived))
    assert trim(history, nothing, Caps(hard_bytes=1_000)) is history


def test_trim_keeps_the_newest_twenty_above_the_byte_limit():
    """Otherwise every new exchange would leave history at once."""
    history = tuple(talk(25, text="第 {} 句" + "长" * 400))
    left = trim(history, everything, Caps(hard_bytes=1_000))
    assert ids(left) == [f"m{n}" for n in range(5, 25)]


@given(HISTORIES, st.sets(st.integers(0, 12)), st.integers(1, 6), st.integers(0, 6), st.integers(0, 5), st.integers(50, 3_000))
def test_trim_keeps_order_and_unwritten_messages_for_any_history(history, numbers, soft, more, newest, size):
    caps = Caps(soft, soft + more, size, newest)

    def written(one: Message) -> bool:
        return int(one.id[1:]) in numbers

    left = trim(history, written, caps)
    places = iter(enumerate(history))
    kept = {next(n for n, entry in places if entry is one) for one in left}  # order: each is found behind the one before
    messages = [n for n, entry in enumerate(history) if isinstance(entry, Message)]
    gone = set(range(len(history))) - kept
    assert gone <= set(messages)
    assert all(written(history[n]) for n in gone)  # type: ignore[arg-type]
    assert not gone & set(messages[max(0, len(messages) - newest) :])
    assert trim(left, written, caps) == left
    rest = [n for n in messages if n not in gone]
    might = [n for n in rest if written(history[n]) and n not in messages[max(0, len(messages) - newest) :]]  # type: ignore[arg-type]
    assert len(rest) <= caps.hard or not might
    assert len(rest) <= caps.soft or not [n for n in might if history[n].archived is Archived.YES]  # type: ignore[union-attr]
