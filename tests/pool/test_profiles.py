"""pool.toml: what is wrong in it is one sentence."""

from __future__ import annotations

import pytest

from recalld.supervisor.storage.errors import BadConfig

crew = pytest.importorskip("recalld.worker.crew", reason="needs the extra pool")


@pytest.fixture
def read(tmp_path):
    def read_file(text, encoding="utf-8"):
        (tmp_path / "pool.toml").write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
        return crew.read_profiles(tmp_path / "pool.toml")

    return read_file


def test_pool_file_names_the_models(read):
    found = read('[pool]\nthreads = 4\n[providers.fast]\nmodel = "m"\n', "utf-8-sig")
    assert (found.crew.threads, found.notice) == (4, None)
    assert {name: one.model for name, one in found.models.items()} == {"fast": "m"}


def test_rates_of_an_older_version_are_told_and_not_regarded(read):
    found = read('[pool]\nrate_wait = "5s"\n[providers.fast]\nmodel = "m"\nprice_in = 2\n')
    assert str(found.notice).startswith("pool.toml has rate_wait, price_in, ")
    assert "delete them" in str(found.notice)


@pytest.mark.parametrize("limit", ["calls_per_day", "money_per_day"])
def test_limit_of_a_day_of_an_older_version_is_never_dropped(read, limit):
    with pytest.raises(BadConfig, match=rf"{limit}.*llm\.max_calls_per_day"):
        read(f'[providers.fast]\nmodel = "m"\n{limit} = 40\n')


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"[pool", "pool.toml: line 1, column 1: no TOML"),
        (b"a = " + b"[" * 5_000, "pool.toml: it is nested too deeply"),
        (b"\xff", "pool.toml: it is not UTF-8"),
        (b"", "pool.toml: it names no model"),
        (b"providers = 3", "pool.toml: it names no model"),
        (b"[providers.a]\nbase_url = 'http://h/v1'", "providers.a.model: "),
        (b"[providers.a]\nmodel = 'm'\nx = 1", "provider.x: there is no such key"),
    ],
)
def test_pool_file_that_is_wrong_is_refused_in_one_sentence(read, text, sentence):
    with pytest.raises(BadConfig) as refused:
        read(text)
    assert str(refused.value).startswith(sentence)
    assert "\n" not in str(refused.value)


def test_pool_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(BadConfig, match=r"it names the models of the pool"):
        crew.read_profiles(tmp_path / "pool.toml")
