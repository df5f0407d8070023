"""pool.toml: what is wrong in it is one sentence."""

from __future__ import annotations

import pytest

from recalld.supervisor.storage.errors import BadConfig

profiles = pytest.importorskip("recalld.worker.crew", reason="needs the extra pool")


def test_pool_file_names_the_models(tmp_path):
    file = tmp_path / "pool.toml"
    file.write_text('[pool]\nthreads = 4\n[providers.fast]\nmodel = "m"\n', encoding="utf-8-sig")
    found = profiles.read_profiles(file, {})
    assert found.crew.threads == 4
    assert {name: one.model for name, one in found.models.items()} == {"fast": "m"}
    assert found.notice is None


def test_rates_of_an_older_version_are_told_and_not_regarded(tmp_path):
    file = tmp_path / "pool.toml"
    file.write_text('[pool]\nrate_wait = "5s"\n[providers.fast]\nmodel = "m"\nprice_in = 2\n')
    found = profiles.read_profiles(file, {})
    assert str(found.notice).startswith("pool.toml has rate_wait, price_in, ")
    assert "delete them" in str(found.notice)


@pytest.mark.parametrize("limit", ["calls_per_day", "money_per_day"])
def test_limit_of_a_day_of_an_older_version_is_never_dropped(tmp_path, limit):
    file = tmp_path / "pool.toml"
    file.write_text(f'[providers.fast]\nmodel = "m"\n{limit} = 40\n')
    with pytest.raises(BadConfig, match=rf"{limit}.*llm\.max_calls_per_day"):
        profiles.read_profiles(file, {})


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
def test_pool_file_that_is_wrong_is_refused_in_one_sentence(tmp_path, text, sentence):
    file = tmp_path / "pool.toml"
    file.write_bytes(text)
    with pytest.raises(BadConfig) as refused:
        profiles.read_profiles(file, {})
    assert str(refused.value).startswith(sentence)
    assert "\n" not in str(refused.value)


def test_pool_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(BadConfig, match=r"it names the models of the pool"):
        profiles.read_profiles(tmp_path / "pool.toml", {})
