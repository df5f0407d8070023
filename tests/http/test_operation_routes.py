"""Every operation at /api/NAME, and the description of all of it."""

from __future__ import annotations

import json

import jsonschema
import pytest

from recalld.supervisor.operations.codec import from_json
from recalld.supervisor.operations.operation import NAMES, find
from recalld.supervisor.storage.errors import BadRequest
from tests.http.service import Service
from tests.world import message


@pytest.mark.parametrize("name", NAMES)
def test_operation_is_described_and_served(unchanged: Service, name):
    found = unchanged.ask("GET", "/openapi.json").json()["paths"][f"/api/{name}"]["post"]
    assert found["summary"]
    assert found["requestBody"]["content"]["application/json"]["schema"]["additionalProperties"] is False
    refused = unchanged.problem(400, "POST", f"/api/{name}", {"no such field": 1})
    assert refused["field"] == "no such field"
    allowed = unchanged.ask("GET", f"/api/{name}")
    assert (allowed.status_code, allowed.headers["allow"]) == (405, "POST")


ANSWERED = {
    **{name: {} for name in ("read", "days", "sessions", "stats", "examine", "status", "plan", "fsck", "index_status")},
    "search": {"query": "花生"},
    "get": {"path": "memory.md"},
    "inject": {"question": "花生"},
    "day": {"day": "2026-02-10"},
    "summary": {"period": "2026-02-10"},
    "forget": {"by": "match", "value": "花生"},
}


def test_operation_takes_what_its_description_says(service: Service):
    service.world.write([message(f"m{n}", f"2026-02-1{n}T09:00", "我对花生过敏。", session="web:1") for n in range(5)])
    service.world.settle()
    service.world.put("memory.md", "2026-01-20|web-chat|花生过敏\n")
    described = service.ask("GET", "/openapi.json").json()
    for name, request in ANSWERED.items():
        body = described["paths"][f"/api/{name}"]["post"]["requestBody"]["content"]["application/json"]["schema"]
        assert service.ask("POST", f"/api/{name}", request).status_code == 200, name
        jsonschema.validate(request, body)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**request, "花生": 1}, body)


@pytest.mark.parametrize(
    ("name", "body", "field"),
    [
        ("search", {"query": 7}, "query"),
        ("search", {"query": "x", "limit": 0}, "limit"),
        ("search", {"query": "a\ud83d"}, "query"),
        ("search", {}, "query"),
        ("search_lines", {"keywords": "x", "maxResults": 0}, "maxResults"),
        ("search_lines", {"keywords": "x", "matchMode": "nor"}, "matchMode"),
        ("get", {"path": "../../etc/passwd"}, "path"),
        ("day", {"day": "2026-02-30"}, "day"),
        ("memory/search", {"keywords": ["x"]}, "keywords"),
        ("memory/search", {"keywords": "x", "max_results": 10**9}, "max_results"),
        ("memory/search", {"keywords": "x", "match_mode": "all"}, "match_mode"),
        ("memory/search", {"keywords": "x", "limit": 1}, "limit"),
    ],
)
def test_request_that_is_wrong_is_refused_by_its_field(unchanged: Service, name, body, field):
    found = unchanged.problem(400, "POST", f"/api/{name}", body)
    assert (found["field"], len(found["detail"]) < 200) == (field, True)


@pytest.mark.parametrize("who", ["chat=party", "chat=group&chat=direct", "group=x"])
def test_caller_that_is_wrong_is_refused(unchanged: Service, who):
    assert unchanged.problem(400, "POST", f"/api/stats?{who}")["field"] in ("chat", "group")


def test_value_that_is_nested_too_deep_is_refused_by_its_field():
    with pytest.raises(BadRequest, match=r"^messages: .* must not be nested so deep"):
        from_json(find("append"), {"messages": [{"role": "user", "content": "花", "x": json.loads("[" * 400 + "]" * 400)}]})


def test_whole_number_may_have_a_point(unchanged: Service):
    assert unchanged.ask("POST", "/api/search", {"query": "花生", "limit": 3.0}).status_code == 200
    assert unchanged.problem(400, "POST", "/api/search", {"query": "花生", "limit": 3.5})["field"] == "limit"


def test_what_is_the_owners_alone_is_403_in_a_group(service: Service):
    service.problem(403, "POST", "/api/index_status?chat=group")


def test_folder_in_place_of_a_file_is_422(service: Service):
    (service.world.root / "memory.md").mkdir()
    service.problem(422, "POST", "/api/long_term_text")
