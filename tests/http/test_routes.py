"""The REST service of 000, to the letter, every operation at /api/NAME, and the description of all of it."""

import json

import jsonschema
import pytest

from recalld.supervisor.operations.codec import from_json
from recalld.supervisor.operations.operation import NAMES, find
from recalld.supervisor.storage.errors import BadRequest
from tests.http.service import Service
from tests.world import message

LINES = "2026-02-14|web-chat|项目使用FastAPI后端；Python 3.11\n2026-02-15|telegram|API限流100req/min\n2026-02-15|web-chat|用户偏好Python\n"
LONG_TERM = "/api/memory/long-term"


def remember(service: Service, text: str = LINES) -> None:
    service.world.put("memory.md", text)


@pytest.mark.feature("000.29")
def test_long_term_is_read_whole(service: Service):
    assert service.ask("GET", LONG_TERM).json() == {"content": ""}
    remember(service)
    assert service.ask("GET", LONG_TERM).json() == {"content": LINES}


@pytest.mark.feature("000.30")
def test_long_term_is_saved_whole_and_the_old_text_is_kept(service: Service):
    remember(service)
    answer = service.ask("PUT", LONG_TERM, {"content": "2026-02-16|web-chat|用户改用Go"})
    assert answer.json() == {"success": True, "message": "Memory updated"}
    assert (service.world.root / "memory.md").read_text() == "2026-02-16|web-chat|用户改用Go"
    kept = [path.read_text() for path in service.world.paths.previous.iterdir()]
    assert kept == [LINES]


def test_second_of_two_tabs_that_save_sees_both_texts(service: Service):
    remember(service)
    etag = service.ask("GET", LONG_TERM).headers["etag"]
    first = service.ask("PUT", LONG_TERM, {"content": "先保存的"}, **{"If-Match": etag})
    assert first.status_code == 200
    second = service.problem(412, "PUT", LONG_TERM, {"content": "后保存的"}, **{"If-Match": etag})
    assert (second["content"], second["yours"]) == ("先保存的", "后保存的")
    assert (service.world.root / "memory.md").read_text() == "先保存的"
    again = service.ask("PUT", LONG_TERM, {"content": "合并的"}, **{"If-Match": first.headers["etag"]})
    assert again.status_code == 200


@pytest.mark.feature("000.31")
def test_stats_count_lines_and_sources(service: Service):
    assert service.ask("GET", "/api/memory/stats").json() == {"total": 0, "sources": {}, "date_range": ""}
    remember(service)
    assert service.ask("GET", "/api/memory/stats").json() == {
        "total": 3,
        "sources": {"web-chat": 2, "telegram": 1},
        "date_range": "2026-02-14 ~ 2026-02-15",
    }


@pytest.mark.feature("000.32")
def test_recent_returns_the_last_lines_with_their_numbers(service: Service):
    assert service.ask("GET", "/api/memory/recent").json() == {"content": "记忆为空"}
    remember(service)
    found = service.ask("GET", "/api/memory/recent?count=2").json()
    assert found == {"content": "[2] 2026-02-15|telegram|API限流100req/min\n[3] 2026-02-15|web-chat|用户偏好Python"}
    remember(service, "".join(f"2026-02-15|cron|第{n}件\n" for n in range(12)))
    assert service.ask("GET", "/api/memory/recent").json()["content"].count("\n") == 9  # ten lines


@pytest.mark.feature("000.33")
def test_search_returns_the_lines_with_any_keyword_and_how_many_there_are(service: Service):
    remember(service)
    found = service.ask("POST", "/api/memory/search", {"keywords": "python fastapi", "max_results": 15}).json()
    assert found["results"].splitlines() == [
        "[1] 2026-02-14|web-chat|项目使用FastAPI后端；Python 3.11",
        "[3] 2026-02-15|web-chat|用户偏好Python",
    ]
    assert found["total"] == 3
    both = service.ask("POST", "/api/memory/search", {"keywords": "python fastapi", "match_mode": "and"}).json()
    assert both["results"].count("[") == 1
    limited = service.ask("POST", "/api/memory/search", {"keywords": "2026", "max_results": 1.0}).json()
    assert limited["results"].endswith("共 3 条匹配，仅显示前 1 条")


@pytest.mark.feature("000.34")
@pytest.mark.feature("000.52")
def test_session_is_saved_as_one_line(service: Service):
    remember(service)
    service.world.write(
        [
            message("a", "2026-02-15T09:00", "API 用 RESTful 风格，认证用 JWT。", session="web:1"),
            message("b", "2026-02-15T09:01", "好的，记下了。", "assistant", session="web:1"),
        ]
    )
    answer = service.ask("POST", "/api/chat/sessions/web:1/summarize").json()
    assert [*answer] == ["success", "summary", "message"]
    assert answer["success"] is True
    assert "JWT" in answer["summary"]
    assert answer["message"] == "已保存到记忆第 4 行（共 4 条）"
    assert (service.world.root / "memory.md").read_text().splitlines()[-1] == f"2026-02-15|web:1|{answer['summary']}"
    again = service.ask("POST", "/api/chat/sessions/web:1/summarize").json()
    assert again == {"success": True, "summary": "", "message": "这个会话没有需要记录的内容。"}


@pytest.mark.parametrize("session", ["nobody", "..%2F..%2Fmemory", "%2e%2e", "a%2F..%2Fx", ""])
def test_session_that_is_not_there_is_refused_and_leaves_no_file(unchanged: Service, session):
    before = sorted(unchanged.world.root.rglob("*"))
    assert unchanged.problem(400, "POST", f"/api/chat/sessions/{session}/summarize")["field"] == "session"
    assert sorted(unchanged.world.root.rglob("*")) == before


# ── what a bad input gets ────────────────────────────────────────────────────

#: A body for `PUT`, and the field that the sentence names.
BAD_TEXTS = {
    "no JSON": (b"{", "body"),
    "an array": (b"[]", "body"),
    "a number": (b"7", "body"),
    "NaN": (b'{"content": NaN}', "body"),
    "no UTF-8": (b'{"content": "\xff"}', "body"),
    "nested": (b"[" * 100_000, "body"),
    "nothing": (b"{}", "content"),
    "a wrong type": (b'{"content": 7}', "content"),
    "null": (b'{"content": null}', "content"),
    "an unknown field": (b'{"content": "", "etag": ""}', "etag"),
    "a key twice": (b'{"content": "", "content": ""}', "content"),
    "NUL": (b'{"content": "a\\u0000b"}', "content"),
    "half an emoji": (b'{"content": "a\\ud83d"}', "content"),
    "a key with half an emoji": (b'{"a\\ud83d": ""}', "a?"),
}


@pytest.mark.parametrize(("body", "field"), BAD_TEXTS.values(), ids=BAD_TEXTS.keys())
def test_text_that_can_not_be_saved_is_refused_by_its_field(unchanged: Service, body, field):
    remember(unchanged)
    found = unchanged.problem(400, "PUT", LONG_TERM, body)
    assert found["field"] == field
    assert found["detail"].startswith(field)
    assert (unchanged.world.root / "memory.md").read_text() == LINES


@pytest.mark.parametrize("count", ["-1", "0", "1000000000", "x", "", "1.5", "１", "%00", "9" * 5000])
def test_count_that_is_no_number_of_lines_is_refused(unchanged: Service, count):
    found = unchanged.problem(400, "GET", f"/api/memory/recent?count={count}")
    assert found["field"] == "count"
    assert "from 1 to 10000" in found["detail"]
    assert len(found["detail"]) < 200


@pytest.mark.parametrize("asked", ["count=1&count=2", "page=2"])
def test_parameter_that_is_unknown_or_there_twice_is_refused(unchanged: Service, asked):
    assert unchanged.problem(400, "GET", f"/api/memory/recent?{asked}")["field"] in ("count", "page")


# ── every operation at /api/NAME ─────────────────────────────────────────────


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


def test_value_that_comes_by_the_socket_is_refused_by_its_field():
    with pytest.raises(BadRequest, match=r"^matchMode: 'nor' is not allowed, give or, and\.$"):
        from_json(find("search_lines"), {"keywords": "x", "matchMode": "nor"})
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
