"""Who may ask over HTTP: token and cookie, Host and Origin."""

import contextlib
import json
import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest

from recalld.supervisor.interfaces import page
from recalld.supervisor.interfaces.http.gate import OPEN_PATHS, Gate
from recalld.supervisor.interfaces.page.views import PAGES
from tests.http.service import Service

LONG_TERM = "/api/memory/long-term"
#: What a stranger may send in place of the token.
NO_TOKENS = {
    "none": {},
    "a wrong one": {"Authorization": "Bearer x" * 4},
    "a short one": {"Authorization": "Bearer x"},
    "an empty one": {"Authorization": "Bearer"},
    "another kind": {"Authorization": "Basic eDp5"},
    "a wrong cookie": {"Cookie": "recalld=x.y"},
}


@pytest.mark.parametrize("headers", NO_TOKENS.values(), ids=NO_TOKENS.keys())
def test_request_without_the_token_gets_the_same_401(unchanged: Service, headers):
    with unchanged.stranger(**headers) as client:
        answer = client.get("/events")
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.json() == service_401(unchanged)


def service_401(service: Service) -> object:
    with service.stranger() as client:
        return client.get(f"/events?token={service.token}").json()


def test_token_that_others_could_read_is_replaced(service: Service):
    before = service.token
    assert len(before) >= 43  # 32 bytes
    service.world.paths.token.chmod(0o644)
    assert service.ask("GET", "/nothing").status_code == 401
    assert service.token != before
    assert service.world.paths.token.stat().st_mode & 0o777 == 0o600


def test_token_becomes_a_cookie_that_scripts_and_other_sites_do_not_get(service: Service):
    with service.stranger() as client:
        answer = client.post("/session", json={"token": service.token})
        assert answer.status_code == 204
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith(f"recalld_{service.port}=")
        assert service.token not in cookie
        assert {"HttpOnly", "SameSite=strict", "Path=/"} <= {*cookie.split("; ")}
        assert client.get("/nothing").status_code == 404  # let in
        client.delete("/session")
        client.cookies.clear()
        assert client.get("/nothing").status_code == 401


@contextlib.contextmanager
def visitor(service: Service, *, keeps: bool) -> Iterator[tuple[httpx2.Client, dict[str, str]]]:
    """A client that has the cookie alone, and the header of a script that keeps the form token."""
    with service.stranger() as client:
        answer = client.post("/session", json={"token": service.token, "keeps": keeps})
        yield client, {"X-Form-Token": answer.headers.get("x-form-token", "")}


def routes_for_programs(service: Service) -> Iterator[tuple[str, str]]:
    """Method and path of each route that is no page, with a word for each parameter."""
    app: Any = service._thread._server.config.app  # type: ignore[union-attr]
    pages = {route.path for route in page.routes(SimpleNamespace())}  # type: ignore[arg-type, attr-defined]
    for route in app._app.routes:
        if route.path not in pages | OPEN_PATHS | {"/events"}:
            for method in route.methods or {"GET", "POST"}:
                yield method, re.sub(r"{[^}]*}", "x", route.path)


@pytest.mark.parametrize("keeps", [False, True])
def test_cookie_opens_nothing_that_programs_ask(unchanged: Service, keeps):
    asked = [*routes_for_programs(unchanged), ("GET", "/api/nothing"), ("POST", "/v1/chat/completions")]
    assert len(asked) > 50
    with visitor(unchanged, keeps=keeps) as (client, _):
        assert {client.request(method, path).status_code for method, path in asked} == {401}


def test_cookie_opens_the_pages_and_their_stream_of_changes(service: Service):
    with visitor(service, keeps=True) as (client, _), client.stream("GET", "/events") as answer:
        assert answer.status_code == 200
        assert {client.get(path).status_code for _, path in PAGES} == {200}


def test_scripts_of_the_page_open_the_api_by_what_no_other_port_gets(service: Service):
    with visitor(service, keeps=True) as (client, header), visitor(service, keeps=True) as (other, _):
        assert client.get(LONG_TERM, headers=header).status_code == 200
        assert client.put(LONG_TERM, json={"content": "x"}, headers=header).status_code == 200
        assert other.get(LONG_TERM, headers=header).status_code == 401  # it is that of one cookie
        client.cookies.clear()
        assert client.get(LONG_TERM, headers=header).status_code == 401


def test_cookie_of_a_browser_with_scripts_sends_no_form(service: Service):
    with visitor(service, keeps=True) as (client, header):
        page_ = client.get("/long-term?edit=1").text
        assert header["X-Form-Token"] not in page_
        assert re.findall('name="form_token" value="([^"]*)"', page_) == [""]
        for given in ("", header["X-Form-Token"]):
            answer = client.post("/long-term", data={"content": "x", "form_token": given})
            assert answer.status_code == (303 if given else 403)


def test_form_token_of_a_browser_without_scripts_opens_no_api(service: Service):
    with visitor(service, keeps=False) as (client, header):
        given = re.findall('name="form_token" value="([^"]+)"', client.get("/long-term?edit=1").text)[0]
        assert header == {"X-Form-Token": ""}
        assert client.get(LONG_TERM, headers={"X-Form-Token": given}).status_code == 401
        assert client.post("/long-term", data={"content": "x", "form_token": given}).status_code == 303


def test_cookie_ends_with_the_browser_or_after_twelve_hours(service: Service):
    with service.stranger() as client:
        kept = client.post("/session", json={"token": service.token, "keeps": True})
        assert not {"max-age", "expires"} & {part.partition("=")[0].lower() for part in kept.headers["set-cookie"].split("; ")}
        service.world.clock.forward(hours=11, minutes=59)
        assert client.get("/days").status_code == 200
        service.world.clock.forward(minutes=2)
        assert client.get("/days").status_code == 401
        form = {"content": "x", "form_token": kept.headers["x-form-token"]}
        assert client.post("/long-term", data=form).status_code == 401


def test_stream_of_changes_ends_with_the_cookie(service: Service):
    with visitor(service, keeps=True) as (client, _), client.stream("GET", "/events") as answer:
        lines = answer.iter_lines()
        assert next(lines) == ": recalld"
        service.world.clock.forward(hours=13)
        assert [line for line in lines if line.startswith("event:")] in ([], ["event: change"])


def test_cookie_is_refused_once_the_token_is_another(service: Service):
    with service.stranger() as client:
        client.post("/session", json={"token": service.token})
        service.world.paths.token.unlink()
        assert client.get("/nothing").status_code == 401


FOREIGN_HOSTS = ["evil.com", "evil.com:{port}", "127.0.0.1.evil.com:{port}", "localhost.evil.com", "127.0.0.1:1", "", "@"]


@pytest.mark.parametrize("host", FOREIGN_HOSTS)
def test_host_of_another_site_is_refused(unchanged: Service, host):
    lines = f"GET /healthz HTTP/1.1\r\nHost: {host.format(port=unchanged.port)}\r\nConnection: close\r\n\r\n"
    answer = unchanged.raw(lines.encode())
    assert answer.status in (400, 403)
    assert json.loads(answer.body)["status"] == answer.status


@pytest.mark.parametrize(
    ("host", "is_own"),
    [
        ("192.168.1.7:9000", True),  # an address, with the port that a container has outside
        ("localhost:9000", True),
        ("[fe80::1]:9000", True),
        ("evil.com:8377", False),  # a name may be bound to any address
        ("192.168.1.7.evil.com", False),
    ],
)
def test_host_where_others_may_ask_is_an_address_or_the_machine(host, is_own):
    site = SimpleNamespace(host="0.0.0.0", port=8377)  # noqa: S104 - nothing is bound
    assert Gate(None, site, None, is_remote=True).is_own(host) is is_own  # type: ignore[arg-type]


@pytest.mark.parametrize("origin", ["null", "http://evil.com", "http://localhost.evil", "http://127.0.0.1:1", "file://"])
def test_origin_of_another_site_is_refused(unchanged: Service, origin):
    assert unchanged.problem(403, "POST", "/api/search", {"query": "x"}, Origin=origin)
    assert unchanged.problem(403, "GET", "/healthz", Origin=origin)


def test_options_let_no_other_site_in(service: Service):
    answer = service.ask("OPTIONS", "/api/search", Origin=service.url)
    assert not [name for name in answer.headers if name.startswith("access-control")]
