"""The commands of a pool of workers: pool key, status (docs/reference/cli.md)."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Annotated

from ...pool.redis_pool import Broker
from ...protocol.config_keys import Pool
from ...storage.errors import BadConfig, NoService
from ...storage.texts import Text
from .call import Call
from .output import word
from .parser import Option, command

Address = Annotated[str, Option("--broker", "the address of its Redis; else pool.url of the workspace")]


@command("pool key", common=())
def pool_key(call: Call) -> None:
    """Print a new key for RECALLD_POOL_KEY, which hosts and workers of a pool share."""
    from ...host.workers import check_installed

    check_installed()
    from ...pool.cargo import new_key

    call.show(new_key())


@command("pool status", common=("workspace", "json"))
def pool_status(call: Call, broker: Address = "") -> int:
    """Show who is there, and what waits."""
    from ...host.workers import check_installed

    check_installed()
    from ...pool.cargo import PoolAway
    from ...pool.redis_pool import standing_of

    try:
        state = asdict(standing_of(_pool_of(call, broker)))
    except PoolAway as away:
        return call.say(Text("{why}.", why=away.args[0]), NoService.exit_code)
    call.answer(state)
    return 0


def show_pool(call: Call) -> bool:
    """Show what `doctor --broker` finds of the pool of the workspace; return whether all is well."""
    from ...host.workers import check_installed

    check_installed()
    from ...pool.cargo import PoolAway

    try:
        checks = _examined(_pool_of(call, "", of_workspace=True), _keys(call).key_env)
    except PoolAway as away:
        checks = [("bad", away.args[0])]
    except BadConfig as error:
        checks = [("bad", error.sentence)]
    render = call.renderer()
    rows = [{"state": state, "why": str(why)} for state, why in checks]
    call.answer({"checks": rows}, [f"{render(word(state))}  {render(why)}" for state, why in checks])
    return all(state == "good" for state, _ in checks)


def _examined(pool: Broker, key_env: str) -> list[tuple[str, Text]]:
    from ...pool.cargo import Seal
    from ...pool.redis_pool import echo, standing_of

    seal = Seal.of(key_env, os.environ)
    unfit = [("bad", why) for why in pool.unfit()]
    stands = standing_of(pool)
    if unfit:
        return unfit
    facts = {"server": stands.server, "version": stands.version, "slots": stands.slots}
    good = ("good", Text("{server}: Redis {version}, noeviction, {slots} threads of workers", **facts))
    if not stands.slots:
        why = Text("no worker is there; start one with `recalld worker --broker URL`, the whole address of {server}", **facts)
        return [good, ("bad", why)]
    back = echo(pool, seal)
    if isinstance(back, Text):
        return [good, ("bad", back)]
    return [good, ("good", Text("a sealed task came back from a worker in {ms} ms", ms=back))]


def _pool_of(call: Call, address: str, *, of_workspace: bool = False) -> Broker:
    """Return the pool at the address, else that of the variables or, with *of_workspace*, of the workspace alone."""
    from ...pool.redis_pool import Broker

    url, prefix = address or os.environ.get("RECALLD_POOL_URL", ""), os.environ.get("RECALLD_POOL_PREFIX", "recalld")
    if not address and (of_workspace or call.given_workspace or not url):
        keys = _keys(call)
        url, prefix = keys.url, keys.prefix
    if not url:
        raise BadConfig("pool.url", Text("no pool is configured; set pool.url, or give --broker"))
    return Broker(url, prefix)


def _keys(call: Call) -> Pool:
    ws, _ = call.opened_made()
    return ws.config.pool
