"""What the service does with bytes that no well-behaved client sends, and while the disk refuses."""

import errno
import threading
import time

import pytest

from recalld.supervisor.interfaces.http import gate, server
from recalld.supervisor.interfaces.http.site import Access
from recalld.supervisor.interfaces.serve import Answers
from recalld.supervisor.storage.files import Files
from recalld.supervisor.workspace import Workspace
from tests.http.service import NOW, Service
from tests.patience import PATIENCE_S
from tests.world import FaultyDisk, World, at

LONG_TERM = "/api/memory/long-term"


def sent(service: Service, *lines: str, body: str = "", host: bool = True) -> int:
    """The status of the answer to a request of these lines, with the token."""
    head = [f"Host: 127.0.0.1:{service.port}"] if host else []
    head += [f"Authorization: Bearer {service.token}", "Connection: close"]
    answer = service.raw("\r\n".join([lines[0], *head, *lines[1:], "", body]).encode())
    assert "Traceback" not in answer.body
    return answer.status


def test_two_hosts_and_none_are_400(service: Service):
    assert sent(service, "GET /healthz HTTP/1.1", f"Host: 127.0.0.1:{service.port}") == 400
    assert sent(service, "GET /healthz HTTP/1.1", host=False) == 400
    assert sent(service, "GET /healthz HTTP/1.0", host=False) == 400


def test_length_that_is_said_in_two_ways_is_400(service: Service):
    chunked = ("POST /api/stats HTTP/1.1", "Transfer-Encoding: chunked", "Content-Length: 5", "Content-Type: application/json")
    assert sent(service, *chunked, body="0\r\n\r\n") == 400
    twice = ("POST /api/stats HTTP/1.1", "Content-Length: 5", "Content-Length: 6", "Content-Type: application/json")
    assert sent(service, *twice, body="{}   ") == 400


@pytest.mark.parametrize(
    "line", ["rubbish", "GET HTTP/1.1", "GET / HTTP/9.9", "GET /\x00 HTTP/1.1", "PRI * HTTP/2.0", "GET /\u00e9 HTTP/1.1"]
)
def test_line_that_is_no_http_is_400(unchanged: Service, line):
    assert sent(unchanged, line) == 400


def test_head_that_is_too_long_is_431(service: Service):
    assert sent(service, "GET /healthz HTTP/1.1", f"X-Much: {'x' * 30_000}") == 431
    assert sent(service, "GET /healthz HTTP/1.1", *(f"X-{n}: {'x' * 100}" for n in range(400))) == 431


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""])
def test_body_that_is_no_json_by_its_type_is_415(unchanged: Service, kind):
    head = ("POST /api/stats HTTP/1.1", "Content-Length: 2", *([f"Content-Type: {kind}"] if kind else []))
    assert sent(unchanged, *head, body="{}") == 415


def test_body_over_the_limit_is_413_and_the_file_keeps_its_bytes(service: Service):
    service.world.put("memory.md", "原来的\n")
    service.problem(413, "POST", "/api/search", b'{"query": "' + b"x" * gate.MOST_BODY + b'"}')
    service.problem(413, "PUT", LONG_TERM, b'{"content": "' + b"x" * 20_000_000 + b'"}')
    assert (service.world.root / "memory.md").read_text() == "原来的\n"


def test_body_over_the_limit_in_pieces_is_413(service: Service):
    piece = f"{1 << 16:x}\r\n{'x' * (1 << 16)}\r\n"
    head = ("POST /api/search HTTP/1.1", "Transfer-Encoding: chunked", "Content-Type: application/json")
    assert sent(service, *head, body=piece * 20) == 413


def test_request_that_drips_is_closed(service: Service, monkeypatch):
    monkeypatch.setattr(server, "_ARRIVE_S", 0.25)
    head = f"POST /api/stats HTTP/1.1\r\nHost: 127.0.0.1:{service.port}\r\nAuthorization: Bearer {service.token}\r\n"
    with_body = f"{head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n"
    for data in ("", "G", head, with_body):
        assert service.raw(data.encode()).status in (0, 400, 408)
    whole = f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{service.port}\r\n\r\n"
    for half in (head, with_body):
        assert service.raw((whole + half).encode()).status == 200  # and then it is closed


def test_answer_may_take_longer_than_its_request(service: Service, monkeypatch):
    monkeypatch.setattr(server, "_ARRIVE_S", 0.2)
    with service.client.stream("GET", "/events") as answer:
        lines = answer.iter_lines()
        assert next(lines) == ": recalld"
        time.sleep(0.5)
        service.log("archived")
        assert any(line.startswith("data: ") for line in lines)


# ── while the disk refuses ───────────────────────────────────────────────────


@pytest.mark.parametrize(("number", "status"), [(errno.ENOSPC, 507), (errno.EROFS, 403), (errno.EACCES, 403), (errno.EIO, 507)])
def test_disk_that_refuses_is_told_without_its_path(service: Service, number, status):
    service.world.put("memory.md", "原来的\n")
    disk = FaultyDisk(number=number, refuses=lambda _call, path: bool(path and "memory.md" in path.name))
    service.world.reopen(disk=disk)
    refused = service.problem(status, "PUT", LONG_TERM, {"content": "新的"})
    assert "memory.md" in refused["detail"]
    disk.heal()
    assert (service.world.root / "memory.md").read_text() == "原来的\n"


def test_lock_that_another_holds_is_503_with_retry_after(service: Service, monkeypatch):
    monkeypatch.setattr("recalld.supervisor.storage.files.Files.lock.__defaults__", (0.05,))
    with service.world.files.lock(service.world.paths.long_term_lock):
        answer = service.ask("PUT", LONG_TERM, {"content": "新的"})
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")


def test_bug_is_an_event_and_an_answer_that_shows_nothing(service: Service, monkeypatch):
    monkeypatch.setattr("recalld.supervisor.longterm.long_term_file.LongTermFile.read", lambda _: 1 / 0)
    refused = service.problem(500, "GET", LONG_TERM)
    assert "error" in refused["detail"]
    assert service.world.events.of("error")
    assert service.ask("GET", "/healthz").text == "ok\n"


def test_service_that_is_ended_while_it_begins_serves_nobody(tmp_path, monkeypatch):
    monkeypatch.setattr(server, "_JOIN_S", 0.0)
    world, begins, goes_on, reports = World(tmp_path, at(NOW)), threading.Event(), threading.Event(), []

    def served() -> Workspace:
        begins.set()
        assert goes_on.wait(PATIENCE_S)
        return world.ws

    thread = server.HttpThread(server.Place("127.0.0.1", 0, False), Answers(served), world.clock, reports.append)
    thread.start()
    assert begins.wait(PATIENCE_S)
    thread.end()
    goes_on.set()
    thread._thread.join(PATIENCE_S)
    assert (thread._thread.is_alive(), reports) == (False, [])


# ── what changes ─────────────────────────────────────────────────────────────


def test_events_say_a_change_once_and_without_its_words(service: Service):
    with service.client.stream("GET", "/events") as answer:
        lines = answer.iter_lines()
        assert next(lines) == ": recalld"
        service.world.put("memory.md", "秘密在信箱里\n")
        first = next(line for line in lines if line.startswith("data: "))
        service.log("archived")  # the next look sees this, and no longer that
        second = next(line for line in lines if line.startswith("data: "))
    assert [first, second] == ['data: {"kind": "long-term"}', 'data: {"kind": "event"}']


def test_token_is_read_again_only_when_its_file_has_changed(world: World, monkeypatch):
    access, reads, read = Access(world.files, world.paths), [], Files.read_stable
    monkeypatch.setattr(Files, "read_stable", lambda *given: reads.append(given) or read(*given))
    tokens = {access.token() for _ in range(5)}
    assert (len(tokens), len(reads)) == (1, 2)  # before it is made, and after
    world.put(".recalld/token", "另一个token\n")
    assert not access.is_token(*tokens)
    assert len(reads) == 3
