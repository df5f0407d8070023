"""The slug in the name of a dated file."""

import re
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.archive.slug import free_name, slugs_of
from recalld.supervisor.protocol.paths import SLUG_CHARS

DAY = date(2026, 1, 28)
TEXTS = st.lists(
    st.text()
    | st.text("abcXYZ019 -_.~/'\u0301\u2010\uff41\u0130", max_size=80)
    | st.text(st.characters(categories=["Cs", "Lu"]))
)


def by_user(texts: list[str]) -> list[tuple[str, str]]:
    return [("user", text) for text in texts]


def slug_of(messages: list[tuple[str, str]], length: int = SLUG_CHARS) -> str:
    return slugs_of([messages], length)[0]


@pytest.mark.parametrize(
    ("texts", "slug"),
    [
        (["上次用 Cloudflare Workers 部署超时了"], "cloudflare-workers-bushu"),
        (["備份軟體壞了"], "beifen-ruanjian"),
        (["让你在我会这是"], ""),  # no nouns
        (["晚上去室内攀岩馆，再吃关东煮"], "shinei-panyanguan-guandongzhu"),  # whole words
        (["上海外滩金融中心大厦三楼会议室"], "waitan-jinrongzhongxin-dasha"),  # the end of what is joined
        (
            ["我在云南的民宿拍了雪山和民宿的院子", "ok wow 民宿真好", "雪山的照片"],
            "minsu-xueshan-yuanzi",
        ),  # no stray Latin word
        (["同情，真的"], ""),  # an everyday noun, once
        (["妈妈陪孩子去医院了"], "mama-yiyuan"),  # two everyday nouns
        (["太晚了，睡吧"], ""),  # a place in jieba's dictionary
        (["点单的程序写好了，程序跑起来了", "程序又崩了"], "chengxu"),  # 进程 in Taiwan
        (["好的 ok", "嗯", "1 2 3"], ""),
        (["dont forget the shed, Dympna havent got it", "[Media omitted]", "hes asleep"], "shed-dympna-asleep"),
    ],
)
def test_slug_of_uses_the_most_telling_words(texts, slug):
    assert slug_of(by_user(texts)) == slug


@pytest.mark.parametrize(
    ("texts", "slug"),
    [
        (["wifi for guests is plum-otter-1931", "We bought a tent"], "bought-tent"),
        (["客人的 wifi 是 plum-otter-1931", "周末去云台山"], "yuntaishan"),
        (["门禁是水獭和李子。周末去云台山"], "yuntaishan"),
        (["The new code:\n\notter tango. We bought a tent"], "bought-tent"),
        (["What was the wifi password?", "otter tango", "We bought a tent"], "bought-tent"),
        (["router.plum-otter_1931 and falcon9x, We bought a tent"], "bought-tent"),
        (["the monkey and the keyhole, passing Kunming"], "monkey-keyhole-kunming"),
    ],
)
def test_slug_of_has_nothing_of_a_sentence_that_may_tell_a_secret(texts, slug):
    assert slug_of(by_user(texts)) == slug


def test_slug_of_has_no_answer_to_a_question_for_a_secret():
    said = [("assistant", "门禁密码是多少？"), ("user", "水獭李子"), ("user", "周末去云台山")]
    assert slug_of(said) == "yuntaishan"


SECRETS = [
    "token sk-" + "opensesame" * 5,
    "xiaowang.li@" + "opensesame" * 4 + ".com",
    "-----BEGIN PRIVATE KEY-----\nopensesame " + "x" * 9_000,
]


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("seen", [0, 1, 13, 19, 27, 40])
def test_slug_of_contains_no_secret_that_its_limit_cuts_in_two(secret, seen):
    """Of the secret *seen* characters are before the limit."""
    slug = slug_of(by_user([f"{'花' * (19_999 - seen)} {secret} 就这些。{'好' * 9_000}"]))
    assert not re.search("open|sesame|xiaowang|li", slug)


@pytest.mark.feature("003.2")
def test_free_name_numbers_a_second_file_of_the_day():
    taken = {"2026-01-28-deploy.md"}
    assert free_name(DAY, "deploy", taken) == "2026-01-28-deploy-2.md"
    assert free_name(DAY, "deploy", taken | {"2026-01-28-deploy-2.md"}) == "2026-01-28-deploy-3.md"
    assert free_name(DAY, "nginx", taken) == "2026-01-28-nginx.md"


@pytest.mark.feature("003.2")
@given(TEXTS, st.integers(12, 32))
def test_slug_of_returns_short_kebab_case_for_any_text(texts, length):
    slug = slug_of(by_user(texts), length)
    assert slug == "" or re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", slug)
    assert len(slug) <= length
