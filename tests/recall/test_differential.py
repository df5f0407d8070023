"""
Our order against bare rank-bm25 over the same words: every message scored, no index, no candidates.

What recall adds to the words (days, roles, related words, words that answers share) is worth nothing here, so that the words alone decide.
"""

import math
import random
from datetime import date, timedelta

import pytest
from rank_bm25 import BM25Okapi

from recalld.supervisor.index import documents, ranking, view
from recalld.supervisor.index.documents import CONTEXT_WIDTHS
from recalld.supervisor.query import memory_words, parse
from recalld.supervisor.query.parse import Query
from recalld.supervisor.text.tokenizer import tokens
from tests.world import WITHOUT_MODEL, World, at

CHINESE = """
    花生 过敏 备份 脚本 部署 超时 地铁 房租 火锅 钢琴 牙医 疫苗 猫 药 护照 快递 洗衣机 月季 瑜伽 围棋 体检 尿酸 证书 日志 数据库 报销 合同
    发票 会议室 汇报 实习生 窗帘 瓷砖 保险 驾照 相机 吉他 毛衣 年糕 高铁 民宿 签证 行李箱 里程 面馆 咖啡 鸡蛋 超市 水费 电表 物业 下水道
"""
ENGLISH = """
    router closet allergy plumber cello staging passport window gym column ibuprofen cabin tenant bicycle launch audit garden
    recipe cardamom printer battery elevator dentist report train football bread laptop neighbour kitchen museum violin
    pnpm nginx redis docker kubernetes workers backup retry cache token harbor releases 2222 8096 gpt-4o-mini
"""
COMMON = ["今天", "觉得", "还有", "最近", "大家", "then", "really", "today", "time", "people"]
DAYS, A_DAY, QUESTIONS, TOP = 60, 10, 30, 10


def _said(rng):
    """Words as people use them: few of them often, most of them seldom."""
    language = rng.choice((CHINESE, ENGLISH)).split()
    words = [language[min(int(rng.paretovariate(0.7)) - 1, len(language) - 1)] for _ in range(rng.randint(3, 14))]
    return " ".join([*words, rng.choice(COMMON)])


def _write(world, day, said):
    text = "".join(f"- {9 + n}:15 user: {words}\n" for n, words in enumerate(said))
    world.note(f"{day}-talk.md", text)


class Bare:
    """rank-bm25 as it comes, but for Lucene's idf: over each message, with its neighbours, with those three away."""

    def __init__(self, days):
        self.messages = [(day, text) for day, said in days.items() for text in said]
        windows = (
            [said[max(0, n - reach) : n + reach + 1] for said in days.values() for n in range(len(said))]
            for reach in CONTEXT_WIDTHS
        )
        self.fields = [
            BM25Okapi([[w for text in window for w in tokens(text)] for window in of], k1=1.2, b=0.75) for of in windows
        ]
        for field in self.fields:
            count = {word: sum(word in there for there in field.doc_freqs) for word in field.idf}
            field.idf = {w: math.log(1 + (field.corpus_size - n + 0.5) / (n + 0.5)) for w, n in count.items()}

    def scores(self, words):
        summed = sum(field.get_scores(list(words)) for field in self.fields)
        return {message: float(score) for message, score in zip(self.messages, summed, strict=True)}


@pytest.fixture
def talk(tmp_path, monkeypatch):
    for name in [name for name in vars(ranking) if name.endswith(("_WORTH", "_LOSS"))]:
        monkeypatch.setattr(ranking, name, 0.0)
    monkeypatch.setattr(parse, "_EVERYDAY_LOSS", 0.0)
    monkeypatch.setattr(memory_words, "WORTH", 0.0)
    monkeypatch.setattr(documents, "days_about", lambda text, day: [])
    monkeypatch.setattr(view, "newest_first", lambda _query, found, *_more: found)
    monkeypatch.setattr(view, "users_first", lambda _query, found: found)
    monkeypatch.setattr(ranking, "_LONG_LEAST", 1.0)
    rng = random.Random(20260131)
    world = World(tmp_path, at("2026-01-31T10:00"))
    world.reopen(WITHOUT_MODEL)
    days = {}
    for n in range(DAYS):
        day = date(2025, 11, 20) + timedelta(days=n)
        said = dict.fromkeys(_said(rng) for _ in range(A_DAY))  # a message is known by its words
        days[day] = list(said)
        _write(world, day, days[day])
    world.refresh()
    questions = [sorted(set(rng.sample(f"{CHINESE} {ENGLISH}".split(), rng.randint(1, 5)))) for _ in range(QUESTIONS)]
    return world, days, [Query(dict.fromkeys(tokens(" ".join(words)), 1.0)) for words in questions]


@pytest.mark.feature("003.17")
def test_index_search_equals_rank_bm25_on_a_fresh_index(talk):
    world, days, questions = talk
    bare = Bare(days)
    assert len(bare.messages) >= 500
    answered = 0
    for query in questions:
        theirs = bare.scores(query.words)
        hits = world.ws.index.search(lambda view, query=query: view.answer(query, 1000, 0.0)).hits[:TOP]
        ours = [((hit.unit.day, hit.unit.text), hit.score) for hit in hits]
        answered += bool(ours)
        # equal scores may stand in another order, so it is the scores that are compared, place by place
        best = sorted((score for score in theirs.values() if score > 0), reverse=True)[: len(ours)]
        assert [score for _, score in ours] == pytest.approx(best, abs=1e-3)
        assert [theirs[message] for message, _ in ours] == pytest.approx(best, abs=1e-3)
    assert answered >= 25
