"""A long text is read piece by piece: every word once, in order, with the summary of what came before."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.text.llm_input import MIN_PIECE, Entry, Fold

TEXTS = st.lists(
    st.text(st.sampled_from("花茶部署。\n a9"), min_size=1, max_size=400).filter(str.strip), min_size=1, max_size=8
)


def entries(texts: list[str]) -> list[Entry]:
    return [Entry(f"09:{n:02} user", text.strip()) for n, text in enumerate(texts)]


def words(texts: list[str]) -> str:
    return "".join("".join(texts).split())


@given(TEXTS, st.integers(MIN_PIECE, 500), st.integers(0, 3))
def test_fold_reads_every_word_once_whatever_is_halved(texts, room, halvings):
    fold, told = Fold(entries(texts), "", "zh", 1.0), []
    while fold.left:
        fold.piece(room)
        if halvings and fold.halve():
            halvings -= 1
            continue
        told += [one.text for one in fold.read]
        assert fold.is_last == (not fold._rest)
        fold.take("摘要")
    assert words(told) == words(texts)


def test_fold_halves_no_piece_that_would_be_too_short():
    fold = Fold(entries(["花" * 100]), "", "zh", 1.0)
    fold.piece(MIN_PIECE)
    assert not fold.halve()
