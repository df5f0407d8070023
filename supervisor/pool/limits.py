"""
What all workers of a pool may ask of a provider together: requests and tokens a minute, a budget a day, a pause after a fault.

Each is asked before a call, by Redis's own clock, and each fails closed. A workspace, the *host* here, gets no call before its
courier has reported what it has spent today: Redis may have been emptied since. A courier reports the calls in its log, and the
total that it saw last, so that a lost Redis opens no purse. A day is one of UTC.

The limits are in pool.toml, beside a worker of the pool: the process itself in [pool], and in [providers.NAME] each model that
it may ask. A cargo names a profile and nothing more, so that no workspace can have the pool call a server of its own choosing.
"""

from __future__ import annotations

import time
from dataclasses import fields
from typing import TYPE_CHECKING, Final, Literal

from ..protocol.config import PREFIX, tables
from ..protocol.pool_keys import Crew, OneProvider, PoolFile
from ..protocol.settings import applied, gather
from ..storage.disk import read_outside
from ..storage.errors import BadConfig
from ..storage.os_errors import from_os_error
from ..storage.texts import Text
from ..text.record import record

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta
    from pathlib import Path

    from ..protocol.task import Result
    from .connection import Broker

#: Seconds for which a provider is left alone after a fault, where it does not say for how long; and the longest such time.
_PAUSE_S: Final = 30
_LONGEST_PAUSE_S: Final = 3_600
#: Seconds for which one worker alone asks a provider that had a fault.
_PROBE_S: Final = 60
_POLL_S: Final = 0.1
#: Seconds that a host waits whose report of the day is missing: it comes within one report.
_UNREPORTED_S: Final = 5
_BUDGET_S: Final = 172_800

#: profile, requests and tokens a minute (0: no limit), tokens of this call → milliseconds until its turn; 0: it is taken.
#: Two buckets that fill evenly and hold a fifth of a minute's, one call at least.
_RATE: Final = """
local name = KEYS[1] .. ":rate:" .. ARGV[1]
local clock = redis.call("time")
local now = tonumber(clock[1]) + tonumber(clock[2]) / 1000000
local had = redis.call("hmget", name, "at", "requests", "tokens")
local past = now - (tonumber(had[1]) or now)
local wait, left = 0, {}
for n, kind in ipairs({"requests", "tokens"}) do
    local a_minute, wanted = tonumber(ARGV[n + 1]), (n == 1) and 1 or tonumber(ARGV[4])
    local most = math.max(a_minute / 5, 1)
    left[n] = math.min(most, (tonumber(had[n + 1]) or most) + past * a_minute / 60)
    wanted = math.min(wanted, most)
    if a_minute > 0 and left[n] < wanted then wait = math.max(wait, (wanted - left[n]) * 60 / a_minute) end
    left[n + 2] = wanted
end
if wait == 0 then left[1], left[2] = left[1] - left[3], left[2] - left[4] end
redis.call("hset", name, "at", string.format("%.6f", now), "requests", tostring(left[1]), "tokens", tostring(left[2]))
redis.call("expire", name, 300)
return math.ceil(wait * 1000)
"""

#: profile, host, calls and money (millionths) a day → "" where a call is counted; "unreported", or the seconds until tomorrow.
_SPEND: Final = f"""
local now = tonumber(redis.call("time")[1])
local name = KEYS[1] .. ":budget:" .. ARGV[1] .. ":" .. math.floor(now / 86400)
local most, money = tonumber(ARGV[3]), tonumber(ARGV[4])
if most == 0 and money == 0 then return "" end
if redis.call("hexists", name, "host " .. ARGV[2]) == 0 then return "unreported" end
local total = tonumber(redis.call("hget", name, "calls")) or 0
local spent = tonumber(redis.call("hget", name, "money")) or 0
if (most > 0 and total >= most) or (money > 0 and spent >= money) then return tostring(86400 - now % 86400) end
redis.call("hincrby", name, "host " .. ARGV[2], 1)
redis.call("hincrby", name, "calls", 1)
redis.call("expire", name, {_BUDGET_S})
return ""
"""

#: profile, host, own calls today, day, calls and money seen last → day, calls and money now.
_REPORT: Final = f"""
local today = math.floor(tonumber(redis.call("time")[1]) / 86400)
local name = KEYS[1] .. ":budget:" .. ARGV[1] .. ":" .. today
redis.call("hsetnx", name, "host " .. ARGV[2], ARGV[3])
local sum, all = 0, redis.call("hgetall", name)
for n = 1, #all, 2 do
    if string.sub(all[n], 1, 5) == "host " then sum = sum + (tonumber(all[n + 1]) or 0) end
end
local seen = tonumber(ARGV[4]) == today
for n, kind in ipairs({{"calls", "money"}}) do
    local had = tonumber(redis.call("hget", name, kind)) or 0
    local most = math.max(had, (n == 1) and sum or 0, seen and tonumber(ARGV[4 + n]) or 0)
    redis.call("hset", name, kind, tostring(most))
end
redis.call("expire", name, {_BUDGET_S})
return {{today, redis.call("hget", name, "calls"), redis.call("hget", name, "money")}}
"""


@record
class Profile:
    """One model of the pool, and what all workers may ask of it together."""

    name: str
    base_url: str
    model: str
    api_key_env: str
    requests_per_minute: int
    tokens_per_minute: int
    calls_per_day: int
    money_per_day: float
    price_in: float
    price_out: float
    rate_wait: timedelta


def read_profiles(path: Path, environ: Mapping[str, str]) -> tuple[Crew, dict[str, Profile]]:
    """Return the process and its profiles; BadConfig with one sentence where the file is not there, or wrong."""
    try:
        data = read_outside(path)
    except FileNotFoundError:
        raise BadConfig(
            path.name,
            Text(
                "{path} is not there; it names the models of the pool, a section [providers.NAME] each, as docs/how-to/a-pool-of-workers.md shows",
                path=path,
            ),
        ) from None
    except OSError as error:
        raise from_os_error(error, path) from error
    given = tables(data, path.name)
    providers = given.pop("providers", {})
    crew = applied(PoolFile(), gather(PoolFile(), given, environ, PREFIX)).pool
    if not isinstance(providers, dict) or not providers or not all(isinstance(one, dict) for one in providers.values()):
        raise BadConfig(path.name, Text("it names no model: give a section [providers.default] with base_url and model"))
    found = {}
    for name, table in providers.items():
        one = applied(OneProvider(), gather(OneProvider(), {"provider": table}, {}, PREFIX)).provider
        if not one.model:
            raise BadConfig(
                f"providers.{name}.model", Text('no model is named; give the name that the server knows, such as "qwen3:8b"')
            )
        values = {key.name: getattr(one, key.name) for key in fields(Profile) if hasattr(one, key.name)}
        found[name] = Profile(name=name, rate_wait=crew.rate_wait, **values)
    return crew, found


@record
class Spent:
    """What all hosts have spent on a day, the number of days since 1970: calls, and millionths of the money's unit."""

    day: int = 0
    calls: int = 0
    money: int = 0


def today(broker: Broker) -> int:
    """Return the day of the budgets, by Redis's clock: the number of days since 1970, in UTC."""
    return int(broker.call("time")[0]) // 86_400


def report(broker: Broker, profile: str, host: str, own: int, seen: Spent) -> Spent:
    """Report what a host has spent today and the total that it saw last; return the total now."""
    day, calls, money = broker.run(_REPORT, profile, host, own, seen.day, seen.calls, seen.money)
    return Spent(int(day), int(float(calls)), int(float(money)))


class ProviderLimits:
    """What all workers of the pool may ask together of the provider of one *profile*."""

    def __init__(self, broker: Broker, profile: Profile) -> None:
        self._broker, self._profile = broker, profile
        self._pause, self._probe = broker.key("pause", profile.name), broker.key("probe", profile.name)

    def pause_s(self) -> int:
        """Return for how many seconds the provider is left alone; after a pause one worker alone asks it first."""
        left = self._broker.call("ttl", self._pause)
        if left > 0:
            return int(left)
        is_doubtful = left == -1 or self._broker.call("exists", self._broker.key("doubt", self._profile.name))
        return 0 if not is_doubtful or self._broker.call("set", self._probe, "1", nx=True, ex=_PROBE_S) else 5

    def turn(self, host: str, tokens: int) -> tuple[Literal["busy", "spent"], int] | None:
        """Wait for a turn with the provider and count the call; or why there is none, and for how many seconds."""
        profile = self._profile
        until = time.monotonic() + profile.rate_wait.total_seconds()
        while profile.requests_per_minute or profile.tokens_per_minute:
            wait_s = (
                self._broker.run(_RATE, profile.name, profile.requests_per_minute, profile.tokens_per_minute, tokens) / 1000
            )
            if not wait_s:
                break
            if time.monotonic() + wait_s > until:
                return "busy", max(1, round(wait_s))
            time.sleep(min(wait_s, max(_POLL_S, wait_s / 2)))
        money = round(profile.money_per_day * 1_000_000)
        answer = self._broker.run(_SPEND, profile.name, host, profile.calls_per_day, money)
        if not answer:
            return None
        return ("busy", _UNREPORTED_S) if answer == b"unreported" else ("spent", int(answer))

    def ended(self, result: Result) -> None:
        """Note what a task has cost; after a fault of the provider no worker of the pool asks it for a while."""
        broker, profile = self._broker, self._profile
        doubt = broker.key("doubt", profile.name)
        if result.reason == "provider":
            pause_s = min(result.retry_after_s or _PAUSE_S, _LONGEST_PAUSE_S)
            broker.call("set", self._pause, "1", ex=pause_s)
            broker.call("set", doubt, "1", ex=pause_s + _LONGEST_PAUSE_S)
            broker.call("delete", self._probe)
        elif result.usage.get("calls"):
            broker.call("delete", doubt, self._probe)
        if cost := _cost(result.usage, profile):
            name = broker.key("budget", f"{profile.name}:{today(broker)}")
            broker.call("hincrby", name, "money", cost)
            broker.call("expire", name, _BUDGET_S)


def _cost(usage: Mapping[str, int], profile: Profile) -> int:
    """Return what a task has cost, in millionths: prices are for a million tokens."""
    prices = (("promptTokens", profile.price_in), ("completionTokens", profile.price_out))
    return round(sum(usage.get(kind, 0) * price for kind, price in prices))
