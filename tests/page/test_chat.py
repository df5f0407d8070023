"""The chat on the page: the same conversation as `recalld chat`, whole without scripts, piece by piece with them, every word as text."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pytest

from tests.http.service import Service
from tests.llm.server import Act
from tests.page.test_pages import HTML, OF_ATTACKS, Page, entered, form_token
from tests.page.workspaces import ATTACKS, lived_in
from tests.process.command import until
from tests.world import WITHOUT_MODEL

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx2

    from tests.llm.server import Server

LIVE = {"Accept": "application/x-ndjson"}


def told(client: httpx2.Client, words: str, do: str = "ask", session: str = "", **headers: str) -> httpx2.Response:
    """The answer to the form of the chat."""
    fields = {"form_token": form_token(client.get("/chat").text), "do": do, "words": words, "session": session}
    return client.post("/chat", data=fields, headers=headers)


def history(site: Service) -> list[Any]:
    return json.loads((site.world.root / "history.json").read_bytes())


def test_chat_without_a_model_quotes_memory_and_its_citations_lead_there(site):
    with entered(site) as client:
        answer = told(client, "备份放在哪台机器上？")
        assert answer.status_code == 200
        page = Page(answer.text)
        assert "NAS" in page.text
        assert "还没有设置模型" in page.text  # in the language of the question
        ways = {about.get("href", "") for _, about in page.elements}
        assert {"/days/2026-01-10"} <= ways
        turn = next(way for way in ways if way.startswith("/turns/"))
        assert client.get(turn).status_code == 200
        asked = history(site)[-1]
        assert (asked["text"], asked["session"], asked["channel"]) == ("备份放在哪台机器上？", "chat", "page")
        assert "备份放在哪台机器上？" in client.get("/chat").text
        assert "备份放在哪台机器上？" not in client.get("/chat?session=web").text


@pytest.mark.parametrize(
    ("words", "do", "place"),
    [
        ("备份 NAS", "search", "/search?q=备份+NAS"),
        ("/search 备份", "ask", "/search?q=备份"),
        ("/forget 保险柜", "ask", "/forget?by=match&value=保险柜&back=/chat"),
        ("/forget 2", "ask", "/long-term?line=2#line-2"),
        ("/session 工作", "ask", "/chat?session=工作"),
        ("/help", "ask", "/chat?help=1"),
        ("/why", "ask", "/turns/2"),
    ],
)
def test_chat_has_the_commands_of_the_terminal(site, words, do, place):
    with entered(site) as client:
        answer = told(client, words, do)
        assert answer.status_code == 303
        assert unquote(answer.headers["location"]).startswith(place)
        assert client.get(answer.headers["location"]).status_code == 200


def test_chat_remembers_a_line_once_and_says_where(site):
    with entered(site) as client:
        for known in ("", "has that already"):
            answer = told(client, "护照放在保险柜里", "remember")
            shown = client.get(answer.headers["location"]).text
            assert (known or "Written as line") in shown
    lines = (site.world.root / "memory.md").read_text(encoding="utf-8").splitlines()
    assert lines[-1] == "2026-02-15|page|护照放在保险柜里"


@pytest.mark.parametrize(("words", "do"), [("  ", "ask"), ("/nonsense x", "ask"), ("", "remember"), ("x", "<b>"), ("/", "ask")])
def test_chat_refuses_what_it_does_not_know_with_a_sentence(site, words, do):
    before = history(site)
    with entered(site) as client:
        answer = told(client, words, do)
        assert answer.status_code == 400
        assert 'role="alert"' in answer.text
        assert 'id="chat"' in answer.text, "the chat stays open"
        assert client.post("/chat", data={"words": "x"}).status_code == 403
    assert history(site) == before


# ── with a model: a process answers ──────────────────────────────────────────


@pytest.fixture
def talking(tmp_path, server: Server) -> Iterator[Service]:
    llm = f'[llm]\nbase_url = "{server.url}"\nmodel = "qwen-test"\n'
    with Service(tmp_path / "工作区", f"{WITHOUT_MODEL}{llm}") as found:
        lived_in(found.world)
        yield found


def pieces(answer: httpx2.Response) -> list[dict[str, str]]:
    return [json.loads(line) for line in answer.text.splitlines() if line]


@pytest.mark.proof
def test_answer_of_a_model_comes_piece_by_piece_and_is_text(talking, server):
    server.play(*(Act(text=attack, parts=7) for attack in ATTACKS[:6]))
    with entered(talking) as client:
        for attack in ATTACKS[:6]:
            *said, made = pieces(told(client, attack, **LIVE))
            assert "".join(one["said"] for one in said)
            page = Page(made["html"])
            assert {tag for tag, _ in page.elements} <= {"li", "p", "b", "a", "div", "span"}
            assert not any(name.startswith("on") for _, about in page.elements for name in about)
        whole = Page(client.get("/chat", headers=HTML).text)
        assert {tag for tag, _ in whole.elements}.isdisjoint(OF_ATTACKS)
    assert [one["role"] for one in history(talking)[-2:]] == ["user", "assistant"]


@pytest.mark.proof
def test_answer_ends_with_the_connection_and_is_kept_as_far_as_it_came(talking, server):
    server.play(Act(text="一二三四五六七八九十" * 20, parts=200, pause_s=0.05), Act(status=500, message="out of memory"))
    with entered(talking) as client:
        fields = {"form_token": form_token(client.get("/chat").text), "words": "数数"}
        with client.stream("POST", "/chat", data=fields, headers=LIVE) as answer:
            seen = ""
            for text in answer.iter_text():
                seen += text
                if "一二三" in re.sub(r"[^一二三]", "", seen):
                    break
        until(lambda: history(talking)[-1]["role"] == "assistant")
        assert history(talking)[-1]["cut"] is True
        until(lambda: server.seen.gone)
        failed = told(client, "还在吗？")
        assert "There is no answer" in failed.text
        assert "还在吗？" in failed.text
