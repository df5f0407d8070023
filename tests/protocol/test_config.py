"""The configuration: the documented keys and numbers, what is accepted, what is refused and with which message."""

import json
import re
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.protocol.config import RETIRED, Config, load
from recalld.supervisor.protocol.settings import dotted, keys, variable
from recalld.supervisor.storage.errors import BadConfig

KEYS = keys(Config())


def test_load_reads_a_file_and_keeps_defaults_for_the_rest() -> None:
    toml = """\ufeff
        language = "zh"
        [archive]
        timezone = "Asia/Shanghai"  # 上海
        interval = 30
        [recall]
        meaning = 2
        hit = "line"
        citations = "off"
        [history]
        hard_cap = 100
        [privacy]
        patterns = ["身份证[0-9]{17}[0-9X]", "a,b"]
    """
    config = load(toml.encode(), {})
    assert config.language == "zh"
    assert config.archive.zone.key == "Asia/Shanghai"
    assert config.archive.interval == timedelta(seconds=30)
    assert (config.recall.meaning, config.recall.hit, config.recall.citations) == (2.0, "line", "off")
    assert (config.history.soft_cap, config.history.hard_cap) == (100, 100)  # a pair in order
    assert config.privacy.patterns == ("身份证[0-9]{17}[0-9X]", "a,b")
    assert config.context == Config().context


def test_load_prefers_environment_variables_to_the_file() -> None:
    environ = {
        "RECALLD_RECALL_MAX_HITS": "0",
        "RECALLD_SOURCES_SESSIONS": "work-*, home",
        "RECALLD_CONTEXT_SAY_NOTHING": "Yes",
        "RECALLD_LANGUAGE": "en",
        "RECALLD_LLM_BASE_URL": "",
        "RECALLD_LLM_TEMPERATURE": "0",
        "RECALLD_PRIVACY_PATTERNS": "密码.*,口令.*",
        "RECALLD_ARCHIVE_INTERVAL": "90",
        "RECALLD_SOURCES_TAKE": ' [ {"from": "codex"}]',
    }
    config = load(b'language = "zh"\n[recall]\nmax_hits = 9\n[llm]\nbase_url = "http://127.0.0.1:1/v1"', environ)
    assert config.recall.max_hits == 0
    assert config.sources.sessions == ("work-*", "home")
    assert config.context.say_nothing is True
    assert config.language == "en"
    assert (config.llm.base_url, config.llm.temperature) == ("", 0.0)
    assert config.privacy.patterns == ("密码.*", "口令.*")
    assert config.archive.interval == timedelta(seconds=90)
    assert [source.kind for source in config.sources.take] == ["codex"]


@pytest.mark.parametrize("place", KEYS, ids=dotted)
def test_load_refuses_a_value_of_the_wrong_type_for_every_key(place: tuple[str, str]) -> None:
    section, name = place
    toml = (f"[{section}]\n" if section else "") + f"{name} = 2026-01-31T08:00:00Z\n"
    with pytest.raises(BadConfig) as refused:
        load(toml.encode(), {})
    assert refused.value.key == dotted(place)
    assert KEYS[place].allowed in str(refused.value)


REFUSED = {
    "max_hits = 1": ("max_hits", "no such section, key or variable; docs/reference/configuration.md lists"),
    "[archive]\n'时区' = 1": ("archive.时区", "no such section, key or variable"),
    "[recall]\nlanguage = 'zh'": ("recall.language", "no such section, key or variable"),
    "[fleet]\nx = 1": ("[fleet]", "no such section, key or variable"),
    '"a\\nb" = 1': (r"'a\nb'", "no such section, key or variable"),
    "[[recall]]\nmeaning = 1": ("recall", "write [recall]"),
    "[recall]\nmax_hits = -1": ("recall.max_hits", "-1 is not allowed, give a whole number from 0"),
    "[recall]\nmax_hits = true": ("recall.max_hits", "True is not allowed"),
    "[llm]\ntemperature = 2.01": ("llm.temperature", "from 0 to 2"),
    "[recall]\nmeaning = nan": ("recall.meaning", "nan"),
    "[archive]\ninterval = '5000d'": ("archive.interval", "'5000d'"),
    "[sources]\nsessions = ['work', 1]": ("sources.sessions", "a list of names"),
    "[archive]\ntimezone = 'Asia/Shanghia'": ("archive.timezone", "'Asia/Shanghai'"),
    "[archive]\ntimezone = '/etc/localtime'": ("archive.timezone", "IANA"),
    "[history]\nsoft_cap = 301": ("history.soft_cap", "301 is more than history.hard_cap, which is 300"),
    "[llm]\nbase_url = 'localhost:11434'": ("llm.base_url", "http://"),
    "[serve]\nport = 65536": ("serve.port", "65536"),
    "[serve]\nskip = ['(']": ("serve.skip", "'('"),
    "[turns]\ngreeting = true": ("turns.greeting", "no such section, key or variable"),
    "[privacy]\npatterns = ['a{99999999999}']": ("privacy.patterns", "regular expressions"),
    "language = “zh”": ("recalld.toml", "line 1, column 12: no TOML"),
    "[llm]\n[llm]": ("recalld.toml", "line 2, column 5: no TOML, or a key or a section stands twice; correct it"),
    "a = " + "[" * 5000: ("recalld.toml", "line 1, column 1: no TOML"),
    "[history]\nsoft_cap" + ".a" * 3000 + " = 1": ("history.soft_cap", "is not allowed"),
    "[recall]\nmeaning = 0x" + "f" * 9000: ("recall.meaning", "a number of that length"),
}


@pytest.mark.parametrize(("toml", "said"), REFUSED.items(), ids=lambda v: re.sub(r"\W+", "-", str(v))[:40])
def test_load_refuses_bad_toml_naming_key_value_and_allowed_values(toml: str, said: tuple[str, str]) -> None:
    with pytest.raises(BadConfig) as refused:
        load(toml.encode(), {})
    key, part = said
    assert refused.value.key == key
    assert part in str(refused.value)
    assert "\n" not in str(refused.value)
    assert refused.value.exit_code == 78


@pytest.mark.parametrize(
    ("name", "value", "part"),
    [
        ("RECALLD_任意", "x", "no such section, key or variable"),
        ("RECALLD_RECALL_MAX_HITS", "五", "'五' is not allowed, give a whole number"),
        ("RECALLD_RECALL_MAX_HITS", "", "'' is not allowed"),
        ("RECALLD_PRIVACY_PERSONAL", "也许", "'也许' is not allowed, give true or false"),
        ("RECALLD_LLM_MODEL", "\udc80", "a text on one line"),
    ],
)
def test_load_refuses_a_bad_environment_variable_by_name(name: str, value: str, part: str) -> None:
    with pytest.raises(BadConfig) as refused:
        load(None, {name: value})
    assert part in str(refused.value)
    assert str(refused.value).isprintable()


@pytest.mark.parametrize(
    "toml", ["[llm]\napi_key_env = 'sk-geheim'", "[llm]\napi_key = 'sk-geheim'", "[llm]\nkey = 'sk-geheim'"]
)
def test_load_never_repeats_an_api_key_in_an_error(toml: str) -> None:
    with pytest.raises(BadConfig) as refused:
        load(toml.encode(), {})
    assert "geheim" not in str(refused.value)
    with pytest.raises(BadConfig) as refused:
        load(None, {"RECALLD_LLM_API_KEY": "sk-geheim"})
    assert "geheim" not in str(refused.value)


SECTIONS = sorted({section for section, _ in KEYS if section})
TOML_VALUES = st.one_of(
    st.integers(),
    st.floats().map(repr),
    st.booleans().map(lambda x: str(x).lower()),
    st.text().map(json.dumps),
    st.lists(st.sampled_from(["10m", "中文", "("]) | st.text(max_size=5)).map(json.dumps),
    st.sampled_from(["1979-05-27", "07:32:00", "{}", "{a = 1}", "[[1], [2]]", "0xfff", '"6h"', '"10MB"', "'Asia/Tokyo'"]),
)
PLACES = st.sampled_from([place for place in KEYS if place[0]]) | st.tuples(st.sampled_from(SECTIONS), st.text(max_size=9))


def _entry(place: tuple[str, str], value: object) -> str:
    return f"[{place[0]}]\n{json.dumps(place[1], ensure_ascii=False)} = {value}\n"


NEARLY_TOML = st.lists(st.builds(_entry, PLACES, TOML_VALUES), max_size=2).map("".join)


@given(
    st.binary() | st.text().map(str.encode) | NEARLY_TOML.map(lambda t: t.encode("utf-8", "surrogatepass")),
    st.dictionaries(
        st.sampled_from([variable(place) for place in KEYS]) | st.text().map("RECALLD_".__add__),
        st.text(),
        max_size=2,
    ),
)
def test_load_returns_a_config_or_a_one_line_error_for_any_input(toml: bytes, environ: dict[str, str]) -> None:
    said = ""
    try:
        load(toml, environ)
    except BadConfig as error:
        said = str(error)
    assert len(said.splitlines()) <= 1
    assert said.encode().decode() == said


def test_load_passes_over_keys_of_versions_before_and_names_them() -> None:
    toml = b'language = "en"\n[archive]\nmax_queued = "anything"\n[recall]\nhonest_miss = true\n[tokens]\ncjk_weight = 0.6'
    config = load(toml, {"RECALLD_WORKER_IDLE": "5s"})
    assert config.context.say_nothing is True
    assert set(map(dotted, config.retired)) == {"archive.max_queued", "recall.honest_miss", "tokens.cjk_weight", "worker.idle"}
    assert [str(notice) for notice in config.notices()] == [
        "archive.max_queued is not read any more, what holds is always 8; delete it.",
        "worker.idle is not read any more, what holds is always 60s; delete it.",
        "tokens.cjk_weight is not read any more, what holds is always 1.0; delete it.",
        "recall.honest_miss is called context.say_nothing now; rename it.",
    ]
    assert not RETIRED.keys() & KEYS.keys()


def test_load_passes_over_the_variables_of_a_fleet_of_versions_before() -> None:
    assert load(None, {"RECALLD_FLEET_PORT": "1"}) == load(None, {})


@pytest.mark.parametrize("toml", ["[context]\nsay_nothing = false\n", "[recall]\nhonest_miss = true\n"])
def test_load_prefers_a_key_of_today_to_one_of_versions_before(toml: str) -> None:
    both = {"[context]\nsay_nothing = false\n", "[recall]\nhonest_miss = true\n"}
    text = "".join([toml, *both - {toml}])
    assert load(text.encode(), {}).context.say_nothing is False
