"""An operator runs recalld as a service, with a model's server beside it, and has a bad day."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from typing import TYPE_CHECKING

import pytest

from tests.llm.server import ACTS, Act, Server
from tests.patience import PATIENCE_S
from tests.people.person import Person, lines_of
from tests.process.command import until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.proof

WELL = "all is well; the supervisor runs.\n"
SUMMARY = "## Switches\n\nRack 3 has a new switch on port 8403, rack 4 on port 8404; Jonas replaced both."
DAYS = lines_of(
    *(
        {"role": role, "text": text, "createdAt": f"2026-01-{day:02}T10:00:0{second}+08:00"}
        for day in (3, 4)
        for second, (role, text) in enumerate(
            [
                ("user", f"Jonas replaced the switch of rack {day}, it is on port 840{day} now."),
                ("assistant", f"Noted: rack {day}, port 840{day}."),
            ]
        )
    )
)


def summary(_number: int, prompt: str) -> Act:
    """What the model answers on a good day."""
    return Act(text=SUMMARY if "Jonas" in prompt else "ready")


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        running.script = summary
        yield running


@pytest.fixture
def me(tmp_path: Path, server: Server) -> Person:
    """An operator who has put the model's server into recalld.toml, and two days of January into the workspace."""
    person = Person(tmp_path, OPENAI_API_KEY="sk-test-4f9a")
    person.recalld("init")
    configure(person, "[llm]", f'[llm]\nbase_url = "{server.url}"\nmodel = "qwen-test"\n[summarize]\nleast = 0')
    person.recalld("append --jsonl", stdin=DAYS)
    return person


def configure(me: Person, old: str, new: str) -> None:
    """Edit recalld.toml."""
    path = me.memory / "recalld.toml"
    path.write_text(path.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")


def status(me: Person, *, expects: int = 0) -> str:
    """What `status` says before its table."""
    return me.recalld("status", expects=expects).out.partition("\n\n")[0] + "\n"


def is_well(me: Person) -> bool:
    """Whether `status` says so now; what it says else is of no interest."""
    with contextlib.suppress(AssertionError):
        return status(me) == WELL
    return False


def test_operator_sees_a_model_fail_and_recover(me: Person, server: Server):
    server.play("bad key")
    where = server.url.removesuffix("/v1")
    refused = f"the server refuses the key: qwen-test at {where} (401)"
    with me.supervisor() as service:
        assert f"attempts=1 why={refused}\n" in service.wait_for(" provider_paused ")
        said = status(me, expects=65)
        assert said.startswith("no model writes summaries until 20")
        assert said.endswith(f": {refused}; `recalld -w ~/memory model test` asks it now.\n")
        assert me.recalld("model test", expects=69).err == f"recalld: no answer came: {refused}.\n"
        assert me.recalld("status --json", expects=65).json["today"]["pausedBecause"] == refused

        server.script = summary
        asked = me.recalld("model test").out.splitlines()
        assert asked[0].startswith("qwen-test answered after ")
        assert asked[1:] == ["its pause is over; a running supervisor asks it for summaries again."]
        service.wait_for(" summarised ")
        assert status(me) == WELL
        assert "Rack 3 has a new switch on port 8403" in (me.memory / "memory/summary/2026-01.md").read_text()
        assert "sk-test-4f9a" not in service.text() + (me.memory / "log.jsonl").read_text()
        assert service.end() == 0
    assert service.text().endswith(" stopped\n")
    assert status(me) == "all is well; no supervisor runs, `recalld -w ~/memory run` starts one.\n"


def test_operator_changes_the_configuration_of_a_running_service(me: Person, server: Server):
    server.play("no model")
    with me.supervisor() as service:
        service.wait_for(" provider_paused ")
        configure(me, "[recall]", "[recal]")
        service.wait_for(" config_refused why=[recal]: there is no such section; perhaps recall is meant.\n")
        assert "[recal]: there is no such section; perhaps recall is meant.\n" in status(me, expects=65)
        assert "keeps the configuration before it" in status(me, expects=65)

        server.script = summary
        configure(me, "[recal]", "[recall]")
        configure(me, "qwen-test", "qwen-other")
        service.wait_for(" config_taken keys=llm.model\n")
        service.wait_for(" summarised ")  # at once: the pause was the other model's
        assert status(me) == WELL
        assert {body["model"] for body in server.seen.bodies} == {"qwen-test", "qwen-other"}


@pytest.mark.parametrize("runs", [True, False], ids=["running", "stopped"])
def test_operator_restores_a_damaged_history(me: Person, runs: bool):
    history = me.memory / "history.json"
    with me.supervisor() as service:
        service.wait_for(" summarised ")
        late = me.recalld('append --role user --text "The spare key is with Ada."').out.strip()
        if not runs:
            assert service.end() == 0
        history.write_bytes(history.read_bytes()[:-40])
        if runs:
            service.wait_for(" history_invalid ")
        said = status(me, expects=65)
        assert said.startswith("history.json can't be read: it ")
        assert said.endswith("; `recalld -w ~/memory restore` puts it together again.\n")
        assert "The spare key" in me.recalld('search "spare key"').out
        assert me.recalld("restore").out.startswith("restored  ")
        assert late in {message["id"] for message in json.loads(history.read_bytes())}
        accounts = me.recalld("fsck --json").json
        assert (accounts["seen"], accounts["lost"], accounts["damage"]) == (5, [], [])
        assert status(me).startswith("all is well; ")


def test_operator_has_a_full_disk_and_makes_room(me: Person):
    many = lines_of(*({"role": ("user", "assistant")[n % 2], "text": f"Part {n}: {'x ' * 300}"} for n in range(160)))
    with me.supervisor("bash -c 'ulimit -f 64; exec \"$@\"' - ") as service:
        service.wait_for(" summarised ")
        assert len(me.recalld("append --jsonl", stdin=many).out.split()) == 160  # the limit is the service's alone
        service.wait_for(" degraded ")
        assert "check the disk and its free space.\n" in status(me, expects=65)
        assert service.end() == 0
    with me.supervisor() as service:
        service.wait_for(" archived ")
        until(lambda: is_well(me))
    accounts = me.recalld("fsck --json").json
    assert (accounts["seen"], accounts["lost"], accounts["damage"]) == (164, [], [])


def test_operator_stops_the_service_in_the_middle_of_a_summary(me: Person, server: Server):
    server.script = lambda _number, _prompt: ACTS["hang"]
    with me.supervisor() as service:
        assert server.sent.wait(PATIENCE_S)
        me.recalld("run", expects=75)  # the second one is told that there is a first
        assert service.end(signal.SIGTERM) == 0
        assert service.text().endswith(" stopped\n")
    assert os.listdir(me.memory / "memory" / "originals") == []
    server.script = summary
    me.recalld("run --until-settled")
    assert len(list((me.memory / "memory" / "summary").glob("*.md"))) == 1
    accounts = me.recalld("fsck --json").json
    assert (accounts["seen"], accounts["inFiles"], accounts["lost"]) == (4, 4, [])
