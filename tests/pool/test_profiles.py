"""pool.toml: what is wrong in it is one sentence."""

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
    assert found.crew.threads == 4
    assert {name: one.model for name, one in found.models.items()} == {"fast": "m"}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"[pool", "pool.toml: line 1, column 1: no TOML"),
        (b"a = " + b"[" * 5_000, "pool.toml: line 1, column 1: no TOML"),
        (b"\xff", "pool.toml: it is not UTF-8"),
        (b"", "pool.toml: it names no model"),
        (b"providers = 3", "pool.toml: it names no model"),
        (b"[providers.a]\nbase_url = 'http://h/v1'", "providers.a.model: "),
        (b"[providers.a]\nmodel = 'm'\nmoney_per_day = 1", "provider.money_per_day: there is no such section, key or variable"),
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
