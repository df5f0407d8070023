"""The pool on a real redis-server: what is wrong with it is told in a sentence, and faults lose nothing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from recalld.supervisor.pool import scripts
from recalld.supervisor.pool.cargo import Cargo, PoolAway
from recalld.supervisor.pool.redis_pool import Broker, RedisPool, standing_of
from recalld.supervisor.storage.texts import render
from tests.pool.redis_server import PROGRAM, RedisServer

pytestmark = [pytest.mark.proof, pytest.mark.skipif(PROGRAM is None, reason="needs redis-server: apt-get install redis-server")]


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def broker(redis: RedisServer) -> Broker:
    made = Broker(redis.url, "recalld")
    made.call("flushall")
    return made


# ── what is wrong with it ────────────────────────────────────────────────────


def why(url: str) -> list[str]:
    try:
        return [render(one, "zh") for one in Broker(url, "recalld").unfit()]
    except PoolAway as away:
        return [render(away.args[0], "zh")]


def test_broker_says_why_it_can_not_be_used(tmp_path: Path, broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    assert why(broker.url) == []
    assert "Connection refused" in why("redis://127.0.0.1:9/0")[0]
    with RedisServer(tmp_path, "requirepass secret", "maxmemory 100mb", "maxmemory-policy allkeys-lru") as other:
        assert "authenticated" in why(other.url)[0]
        assert "allkeys-lru" in why(other.url.replace("//", "//:secret@"))[0]
    monkeypatch.setattr(broker.client, "info", lambda _: {"redis_version": "5.0.7"})
    assert [str(one) for one in broker.unfit()] == ["it is Redis 5.0.7, and a pool needs 6.2 or newer, or Valkey"]


# ── what passes through it ───────────────────────────────────────────────────


def test_pool_brings_an_answer_until_it_is_durable(broker: Broker) -> None:
    pool = RedisPool(broker, "甲")
    assert pool.offer(Cargo("w.day-1", b"sealed")) == "new"
    assert pool.offer(Cargo("w.day-1", b"sealed")) == "known"
    assert pool.signs(["w.day-1", "w.day-2"]) == {"w.day-1": "waits"}
    assert broker.run(scripts.BEGIN, "one") == [b"w.day-1", "甲".encode(), b"sealed", 1]
    assert broker.run(scripts.BEGIN, "one") == [b"w.day-1", "甲".encode(), b"sealed", 1]  # its reply was lost
    assert broker.run(scripts.BEGIN, "two") is None
    assert pool.signs(["w.day-1"]) == {"w.day-1": "runs"}
    assert broker.run(scripts.DELIVER, "w.day-1", "two", "甲", b"\x01late") == 0
    assert broker.run(scripts.DELIVER, "w.day-1", "one", "甲", b"\x01done") == 1
    assert broker.run(scripts.BEGIN, "one") is None
    assert [(one.uid, one.sealed) for one in pool.take()] == [("w.day-1", b"\x01done")]
    broker.call("delete", "recalld:taking:甲")
    assert pool.take() == []
    assert [pool.offer(Cargo("w.day-1", b"")) for _ in range(2)] == ["done", "done"]  # its answer comes again, once
    assert broker.call("lrange", "recalld:results:甲", 0, -1) == [b"w.day-1"]
    again = RedisPool(broker, "甲").take()  # a courier that was killed before it was durable
    pool.taken(again)
    assert pool.take() == []
    assert not [key for key in broker.call("keys", "recalld:*") if b"day-1" in key]


def test_pool_brings_an_answer_to_who_asked_last(broker: Broker) -> None:
    before, after = RedisPool(broker, "甲"), RedisPool(broker, "乙")
    before.offer(Cargo("w.day-1", b"sealed"))
    assert after.offer(Cargo("w.day-1", b"sealed")) == "known"
    broker.run(scripts.BEGIN, "one")
    broker.run(scripts.DELIVER, "w.day-1", "one", "甲", b"\x01done")
    assert before.take() == []
    assert [one.uid for one in after.take()] == ["w.day-1"]


def test_worker_keeps_its_task_when_redis_has_forgotten_everything(broker: Broker) -> None:
    pool = RedisPool(broker, "甲")
    pool.offer(Cargo("w.day-1", b"sealed"))
    broker.run(scripts.BEGIN, "one")
    broker.call("flushall")
    assert pool.signs(["w.day-1"]) == {}
    assert broker.run(scripts.RENEW, "w.day-1", "one") == [0]
    assert pool.signs(["w.day-1"]) == {"w.day-1": "runs"}
    assert pool.offer(Cargo("w.day-1", b"sealed")) == "known"
    pool.withdraw(["w.day-1"])
    assert broker.run(scripts.RENEW, "w.day-1", "one") == [1]


def test_task_whose_worker_ended_is_missing_and_begun_again(broker: Broker) -> None:
    pool = RedisPool(broker, "甲")
    pool.offer(Cargo("w.day-2", b"sealed"))
    pool.offer(Cargo("w.day-1", b"sealed", is_asked=True))
    assert broker.run(scripts.BEGIN, "one")[0] == b"w.day-1", "a person waits for it"
    broker.call("delete", "recalld:run:w.day-1")  # its lock has run out
    assert pool.signs(["w.day-1", "w.day-2"]) == {"w.day-2": "waits"}
    assert pool.offer(Cargo("w.day-1", b"sealed", is_asked=True)) == "new"
    assert broker.run(scripts.BEGIN, "two") == [b"w.day-1", "甲".encode(), b"sealed", 2]


# ── what somebody else has put there ─────────────────────────────────────────


@pytest.mark.parametrize("field", ["别人的", b"\xff\xfe", "host 乙"], ids=["name", "bytes", "host"])
@pytest.mark.parametrize("value", ["x", "", "1 2 3", "{}"])
def test_foreign_field_of_a_hash_stops_nobody(broker: Broker, field: str | bytes, value: str) -> None:
    for key in ("threads", "hosts", "tries"):
        broker.call("hset", f"recalld:{key}", field, value)
    pool = RedisPool(broker, "h")
    broker.run(scripts.THERE, "threads", "worker", 4)
    assert pool.room() == 8
    pool.offer(Cargo("h.1", b"sealed"))
    assert broker.run(scripts.BEGIN, "w") == [b"h.1", b"h", b"sealed", 1]
    stands = standing_of(broker)
    assert (stands.slots, stands.hosts) == (4, 1)
    assert broker.call("hget", "recalld:threads", field) == value.encode(), "it is not ours to delete"


# ── faults ───────────────────────────────────────────────────────────────────


def test_worker_that_is_killed_loses_nothing_and_pays_at_most_its_calls() -> None:
    from bench.pool import run

    found = run("worker-killed", tasks=50, processes=2, threads=4)  # the other faults: script/test-pool
    assert found["lost"] == 0, found
    assert found["paid twice"] <= 4, found  # type: ignore[operator]
