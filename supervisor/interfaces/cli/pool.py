"""The commands of a pool of workers: pool key, status (docs/reference/cli.md)."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, TypeVar

from ...storage.errors import BadConfig, NoService
from ...storage.texts import Text
from .call import Call
from .output import word
from .parser import Option, command

if TYPE_CHECKING:
    from ...pool.redis_pool import Broker
    from ...protocol.config_keys import Pool

T = TypeVar("T")
Address = Annotated[str, Option("--broker", meaning="the address of its Redis; else pool.url of the workspace")]


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
        state = asdict(_of_pool(call, broker, standing_of))
    except PoolAway as away:
        return call.say(Text("{why}.", why=away.args[0]), NoService.exit_code)
    call.answer(state)
    return 0


def show_pool(call: Call) -> bool:
    """Show what `doctor --broker` finds of the pool of the workspace; return whether all is well."""

    def look(at: Broker) -> list[tuple[str, Text]]:
        from ...pool.cargo import Seal
        from ...pool.redis_pool import echo, standing_of

        seal = Seal.of(_keys(call).key_env, os.environ)
        bad = [("bad", why) for why in at.unfit()]
        stands = standing_of(at)
        facts = {"server": stands.server, "version": stands.version, "slots": stands.slots}
        good = Text("{server}: Redis {version}, noeviction, {slots} threads of workers", **facts)
        sentence = (
            echo(at, seal)
            if stands.slots and not bad
            else Text(
                "no worker is there; start one with `recalld worker --broker URL`, the whole address of {server}",
                server=stands.server,
            )
        )
        back = (
            ("bad", sentence)
            if isinstance(sentence, Text)
            else ("good", Text("a sealed task came back from a worker in {ms} ms", ms=sentence))
        )
        return bad or [("good", good), back]

    from ...pool.cargo import PoolAway

    try:
        problems = _of_pool(call, "", look, of_workspace=True)
    except PoolAway as away:
        problems = [("bad", away.args[0])]
    except BadConfig as error:
        problems = [("bad", error.sentence)]
    render = call.renderer()
    rows = [{"state": state, "why": str(why)} for state, why in problems]
    shown = (f"{render(word(state))}  {render(why)}" for state, why in problems)
    call.answer({"checks": rows}, [*shown])
    return all(state == "good" for state, _ in problems)


def _of_pool(call: Call, address: str, act: Callable[[Broker], T], *, of_workspace: bool = False) -> T:
    """
    Return what *act* returns for the pool; PoolAway where it is away, BadConfig where none is configured.

    *of_workspace*: the pool is that of the workspace, whatever the variables say.
    """
    from ...host.workers import check_installed

    check_installed()
    from ...pool.redis_pool import Broker

    url, prefix = address or os.environ.get("RECALLD_POOL_URL", ""), os.environ.get("RECALLD_POOL_PREFIX", "recalld")
    if not address and (of_workspace or call.given_workspace or not url):
        keys = _keys(call)
        url, prefix = keys.url, keys.prefix
    if not url:
        raise BadConfig("pool.url", Text("no pool is configured; set pool.url, or give --broker"))
    return act(Broker(url, prefix))


def _keys(call: Call) -> Pool:
    ws, _ = call.opened_made()
    return ws.config.pool
