"""The service as `recalld run` starts it: a port in recalld.toml, `recalld open`, `status`."""

import json
import socket
import urllib.request

import pytest

from recalld.supervisor.interfaces.locate import folder_id
from tests.loopback import free_port
from tests.patience import PATIENCE_S
from tests.process.command import Command, until

pytestmark = pytest.mark.proof


@pytest.fixture
def command(tmp_path) -> Command:
    """The command in a workspace whose supervisor would answer at a free port."""
    return Command.made(tmp_path / "工作区", DISPLAY="", WAYLAND_DISPLAY="", RECALLD_SERVE_PORT=str(free_port()))


def health(command: Command) -> str:
    address = f"http://127.0.0.1:{command.environ['RECALLD_SERVE_PORT']}/healthz"
    try:
        with urllib.request.urlopen(address, timeout=PATIENCE_S) as answer:
            return str(answer.read().decode())
    except OSError:
        return ""


def test_open_prints_the_address_with_the_token_behind_the_hash(command: Command):
    with command.supervised() as process:
        until(lambda: health(command) == "ok\n", process)
        token = (command.root / ".recalld" / "token").read_text().strip()
        address = f"http://127.0.0.1:{command.environ['RECALLD_SERVE_PORT']}/#token={token}"
        assert command("open").out == f"{address}\n"
        assert json.loads(command("open", "--json").out) == {"address": address}
        out, _ = process.communicate() if process.poll() is not None else ("", "")
        assert token not in out + (command.root / "log.jsonl").read_text()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_open_says_what_to_do_where_there_is_no_service(command: Command, language):
    off = command("open", RECALLD_SERVE_PORT="0", RECALLD_LANGUAGE=language)
    assert (off.code, "port = 8377" in off.err) == (69, True)
    unserved = command("open", RECALLD_LANGUAGE=language)
    assert (unserved.code, " run`" in unserved.err) == (69, True)
    assert not (command.root / ".recalld" / "token").exists()


def test_port_that_is_taken_is_a_line_in_status_and_ends_nothing(command: Command):
    port = command.environ["RECALLD_SERVE_PORT"]
    with socket.socket() as other:
        other.bind(("127.0.0.1", int(port)))
        other.listen()
        with command.supervised() as process:
            log = command.root / "log.jsonl"
            until(lambda: "port_refused" in log.read_text(), process)
            told = command("status")
            assert told.code == 65
            assert told.out.splitlines()[0].endswith("; it is tried again: taken.")
            assert command("append", "--role", "user", "--text", "早上好").code == 0
            other.close()
            until(lambda: health(command) == "ok\n", process)
            assert command("status").code == 0


def test_host_that_others_can_reach_needs_leave(command: Command):
    with command.supervised(RECALLD_SERVE_HOST="0.0.0.0") as process:  # noqa: S104 - it is refused
        until(lambda: "port_refused" in (command.root / "log.jsonl").read_text(), process)
        assert "its host needs allow_remote" in command("status").out
        assert health(command) == ""


def test_port_in_a_variable_keeps_no_command_from_the_supervisor(command: Command):
    with command.supervised():
        env = {key: value for key, value in command.environ.items() if key.startswith("RECALLD_")}
        env.pop("RECALLD_SERVE_PORT")
        given = {"op": "command", "request": {"argv": ["search", "--json", "花生"], "env": env}, "caller": {}}
        asked = {"version": 4, **given, "folder": folder_id(str(command.root))}
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(str(command.root / ".recalld" / "socket"))
            line.sendall(json.dumps(asked).encode() + b"\n")
            _, _, answer = b"".join(iter(lambda: line.recv(1 << 16), b"")).partition(b"\n")  # the first line acknowledges
        assert json.loads(answer)["code"] == 0
