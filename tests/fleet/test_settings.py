"""The settings of a fleet: fleet.toml, variables, and what follows from the name of a workspace."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from recalld.supervisor.fleet.settings import Fleet, Settings, load, moment_of, shard_of
from recalld.supervisor.protocol.config import load as load_workspace
from recalld.supervisor.protocol.settings import keys
from recalld.supervisor.storage.errors import BadConfig

PAGE = Path(__file__).parent.parent.parent / "docs/reference/fleet.md"


def test_settings_come_from_the_file_and_variables_win():
    found = load(b"[fleet]\nshards = 3\npoll = '10s'\n", {"RECALLD_FLEET_SHARDS": "2", "RECALLD_FLEET_ROOT": "/srv"})
    assert (found.shards, found.poll) == (2, timedelta(seconds=10))
    assert load(None, {"RECALLD_RECALL_MAX_HITS": "3"}) == Fleet()


@pytest.mark.parametrize(
    ("toml", "environ", "said"),
    [
        (b"[fleet]\nshard = 3\n", {}, "fleet.shard: there is no such key"),
        (b"[fleet]\nround_threads = 1\n", {}, "fleet.round_threads: 1 is not allowed"),
        (b"[fleet\n", {}, "fleet.toml: "),
        (b"", {"RECALLD_FLEET_SHARDS": "many"}, "RECALLD_FLEET_SHARDS: 'many' is not allowed"),
        (b"", {"RECALLD_FLEET_SHARD": "1"}, "RECALLD_FLEET_SHARD"),
    ],
)
def test_settings_that_are_wrong_are_refused_with_their_name(toml, environ, said):
    with pytest.raises(BadConfig) as error:
        load(toml, environ)
    assert said in str(error.value)


def test_settings_of_a_fleet_are_no_fault_of_a_workspace():
    assert load_workspace(None, {"RECALLD_FLEET_SHARDS": "2"}) == load_workspace(None, {})


def test_names_are_spread_over_shards_and_over_the_night():
    names = [f"用户-{n}" for n in range(400)]
    assert min(Counter(shard_of(name, 4) for name in names).values()) > 60
    moments = sorted(moment_of(name, timedelta(hours=6)) for name in names)
    assert moments[0] < timedelta(minutes=10)
    assert timedelta(hours=5, minutes=50) < moments[-1] < timedelta(hours=6)


def test_page_of_the_fleet_has_each_key_with_its_default():
    page = PAGE.read_text(encoding="utf-8")
    for (_, name), key in keys(Settings()).items():
        assert f"| `{name}` | `{key.default}` |" in page
