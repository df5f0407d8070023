"""What a model reads: its tokens are estimated, and a long text is read piece by piece, every word once; and what it said."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.text.llm_input import MIN_PIECE, Entry, Fold, estimate_tokens, token_cost, whole_tokens
from recalld.supervisor.text.llm_output import after_thoughts

# counted with the tokenisers of Qwen (7B) and Qwen 3.6; the larger number of the two
COUNTED = [
    ("现在租的锦枫里 8 月 31 日到期，房东方阿姨说下一年要从 5200 涨到 5600。", 39),
    ("Switching to SQLite, better-sqlite3, WAL mode. Decided.", 17),
    ("restic 0.16.4 to a USB disk at /mnt/usb-bak, cron at 03:30", 29),
    ("export function key(h: Highlight): string {\n  return `${h.bookId}:${h.page}`;\n}\n", 24),
    ("备份挂了：Fatal: unable to create lock in backend，PID 81342", 20),
]


@pytest.mark.parametrize(("text", "counted"), COUNTED)
def test_estimate_tokens_is_between_the_true_count_and_twice_it(text, counted):
    assert counted <= estimate_tokens(text) <= 2 * counted


@given(st.text(), st.text())
def test_estimate_tokens_drops_by_at_most_two_when_text_is_added(a, b):
    assert estimate_tokens(a + b) >= estimate_tokens(a) - 2


@given(st.lists(st.text(min_size=1).map(lambda text: " ".join(text.split())).filter(bool), min_size=1))
def test_costs_of_parts_between_blanks_add_up_to_the_cost_of_the_text(parts):
    cost = sum(token_cost(part if not n else f" {part}") for n, part in enumerate(parts))
    assert whole_tokens(cost) == estimate_tokens(" ".join(parts))


TEXTS = st.lists(
    st.text(st.sampled_from("花茶部署。\n a9"), min_size=1, max_size=400).filter(str.strip), min_size=1, max_size=8
)


def entries(texts: list[str]) -> list[Entry]:
    return [Entry(f"09:{n:02} user", text.strip()) for n, text in enumerate(texts)]


def words(texts: list[str]) -> str:
    return "".join("".join(texts).split())


@given(TEXTS, st.integers(MIN_PIECE, 500), st.integers(0, 3))
def test_fold_reads_every_word_once_whatever_is_halved(texts, room, halvings):
    fold, told = Fold(entries(texts), "", "zh"), []
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
    fold = Fold(entries(["花" * 100]), "", "zh")
    fold.piece(MIN_PIECE)
    assert not fold.halve()


# ── what a model thinks, and marks of its sources, are not what it said ──────────

HARMONY = "<|channel|>analysis<|message|>他问周五……<|end|><|start|>assistant<|channel|>final<|message|>周五部署。<|return|>"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<think>用户要日期</think>周五部署。", "周五部署。"),
        ("用户要日期\n</think>\n周五部署。", "周五部署。"),
        ("用户要日期\n</THINK>\n周五部署。", "周五部署。"),
        ("```python\n试试\n</think>\n周五部署。", "周五部署。"),
        ("Assistant: <think>用户要日期\n</think>\n周五部署。", "周五部署。"),
        (HARMONY, "周五部署。"),
        ("<|channel|>analysis<|message|>hm", ""),
        ("The quay closes at six \ue200cite\ue202turn0search1\ue201.", "The quay closes at six ."),
        ("码头六点关门【4:0†source】。", "码头六点关门。"),
    ],
)
def test_after_thoughts_is_what_is_said(text, said):
    assert after_thoughts(text).strip() == said


@pytest.mark.parametrize(
    "text",
    [
        "a `</think>` in code",
        "if a <| b",
        "【重要】周五部署。",
        "```\n</think>\n```\n标签",
        "周五。\n<think>够\n</think>\n猫",
    ],
)
def test_after_thoughts_leaves_what_only_looks_so(text):
    assert after_thoughts(text) == text
