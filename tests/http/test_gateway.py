"""The gateway: who may ask, and that a refusal shows nothing of which workspaces there are."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from recalld.supervisor.host.lock import supervisor_lock
from recalld.supervisor.interfaces.http.gateway import Gateway, GatewayThread
from recalld.supervisor.interfaces.http.problem import Refused, of_error
from recalld.supervisor.interfaces.http.server import Place
from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.storage.clock import utc_now
from recalld.supervisor.storage.disk import RealDisk
from recalld.supervisor.storage.errors import BadRequest
from recalld.supervisor.workspace import open_workspace
from tests.patience import PATIENCE_S
from tests.process.command import until

if TYPE_CHECKING:
    from pathlib import Path

#: The tokens of the workspaces of two fleets, by their names.
OPENS = {"安娜": "opens-anna", "ben": "opens-ben"}


class ToldDisk(RealDisk):
    """A disk that notes what is asked of it."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("_") and name != "asked":
            self.asked.append(name)
        return super().__getattribute__(name)


class OwnedDisk(RealDisk):
    """A disk on which a fleet opens the workspace at *root* while the gateway writes a file."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def sync(self, handle: int) -> None:
        super().sync(handle)
        with supervisor_lock(open_workspace(self.root, {}, utc_now)):
            pass  # what a fleet does next is a round, which is not needed here


@pytest.fixture
def roots(tmp_path: Path) -> list[Path]:
    """Two fleets with a workspace each."""
    for root, name in zip(("甲", "乙"), OPENS, strict=True):
        state = tmp_path / root / name / ".recalld"
        state.mkdir(parents=True)
        (state.parent / "history.json").write_text("[]")
        (state / "token").write_text(f"{OPENS[name]}\n")
        (state / "token").chmod(0o600)
    return [tmp_path / "甲", tmp_path / "乙"]


def status(gateway: Gateway, path: str, token: str) -> int:
    try:
        gateway.check(path, token)
    except Refused as refused:
        return refused.status
    return 200


def test_gateway_opens_a_workspace_with_its_own_token_alone(roots):
    names = ("nobody", "..", ".fleet", "", "很长" * 200, "a\0b", "link")
    (roots[0] / "link").symlink_to(roots[1] / "ben")
    with closing(Gateway(roots, "127.0.0.1", 8378)) as gateway:
        assert [status(gateway, f"/w/{name}/mcp", token) for name, token in OPENS.items()] == [200, 200]
        assert status(gateway, "/w/ben/mcp", OPENS["安娜"]) == 401
        assert [status(gateway, f"/w/{name}/mcp", OPENS["ben"]) for name in names] == [404] * len(names)


def test_gateway_makes_a_token_while_a_fleet_opens_the_workspace(roots):
    token = roots[1] / "ben/.recalld/token"
    token.unlink()
    with closing(Gateway(roots, "127.0.0.1", 8378, OwnedDisk(roots[1] / "ben"))) as gateway:
        assert status(gateway, "/w/ben/mcp", "") == 401
    assert len(token.read_text()) > 40


def test_gateway_says_in_a_sentence_that_a_body_is_no_json():
    status, sentence, _, _ = of_error(BadRequest("body", Text("http.no_json")), "en", "")
    assert (status, "no JSON" in sentence, ".b.o" in sentence) == (400, True, False)


def test_gateway_does_the_same_for_a_name_that_there_is_not(roots):
    steps, disk = [], ToldDisk()
    with closing(Gateway(roots, "127.0.0.1", 8378, disk)) as gateway:
        for name in (*OPENS, "nobody"):
            disk.asked.clear()
            status(gateway, f"/w/{name}/mcp", "wrong")
            steps.append(list(disk.asked))
    assert steps == steps[:1] * 3
    assert "read" in steps[0]


def test_gateway_refuses_a_stranger_in_the_same_words_whatever_there_is(roots):
    (roots[1] / "ben/.recalld/token").unlink()
    thread = GatewayThread(roots, Place("127.0.0.1", 0, False))
    thread.start()
    try:
        head = {"Authorization": "Bearer x"}
        with httpx2.Client(base_url=f"http://127.0.0.1:{thread.port}", headers=head, timeout=PATIENCE_S) as client:
            found = [client.post(f"/w/{name}/{path}") for name in (*OPENS, "nobody") for path in ("mcp", "api/status", "x")]
        assert [one.status_code for one in found] == [401] * 6 + [404] * 3
        assert {one.content for one in found} == {found[0].content}
        assert {tuple(sorted(one.headers.items())) for one in found} == {tuple(sorted(found[0].headers.items()))}
        until((roots[1] / "ben/.recalld/token").exists)
    finally:
        thread.end()
