"""The pages as a browser without scripts gets them: whole, in both languages, with every stored word as text; forgetting by form."""

import contextlib
import hashlib
import re
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.interfaces.page.views import HERE, PAGES
from recalld.supervisor.interfaces.page.wording import marked_html
from tests.http.service import Service
from tests.page.workspaces import hostile
from tests.world import message, talk

HTMX_SHA256 = "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717"
HTML = {"Accept": "text/html", "Accept-Language": "en"}
#: Elements that the attacks would make, and no page has.
OF_ATTACKS = {"iframe", "object", "embed", "base", "math", "video", "style", "img", "animate", "noscript"}
TEMPLATES = {path.name: path.read_text(encoding="utf-8") for path in (HERE / "templates").glob("*.html")}
#: Every address of the page with its code, and those that a reader gets to from it.
ADDRESSES = [
    *(address for _, address in PAGES),
    *("/days?year=2026", "/days/2026-02-14", "/days/2026-02-14?line=0", "/days/2026-02-14?id=5", "/days/2026-02"),
    *("/days/2026-01", "/days/2026-01-10", "/days/2026-01-10/edit", "/search?q=%E5%A4%87%E4%BB%BD", "/search?q=zzzz"),
    *("/long-term?edit=1", "/long-term?all=1&line=1", "/sessions?all=1", "/sessions?done=nothing", "/health?all=1"),
    "/forget?by=day&value=2026-02-14",
]


class Page(HTMLParser):
    """What a browser makes of the HTML: elements with their attributes, and the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        self.text += data


def shown(site: Service, address: str, status: int = 200, language: str = "en") -> Page:
    """The page at the address, which has that status."""
    answer = site.client.get(address, headers={**HTML, "Accept-Language": language})
    assert answer.status_code == status, (address, answer.status_code, answer.text[-400:])
    return Page(answer.text)


@contextlib.contextmanager
def entered(site: Service) -> Iterator[httpx2.Client]:
    """A browser that has the cookie."""
    with site.stranger(**HTML) as client:
        assert client.post("/session", json={"token": site.token}).status_code == 204
        yield client


def form_token(html: str) -> str:
    return re.findall(r'name="form_token" value="([^"]*)"', html)[0]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_page_is_whole_in_the_language_of_its_reader(site, language):
    for address in ADDRESSES:
        page = shown(site, address, language=language)
        assert page.elements[0] == ("html", {"lang": {"en": "en", "zh": "zh-CN"}[language]})
        assert sum(tag == "h1" for tag, _ in page.elements) == 1, address
        names = [about["id"] for _, about in page.elements if "id" in about]
        assert len(names) == len({*names}), address


def test_no_page_has_a_script_a_style_or_a_form_without_its_token(site):
    for address in ADDRESSES:
        html = site.client.get(address, headers=HTML).text
        forms = re.findall(r'<form[^>]*method="post".*?</form>', html, re.DOTALL)
        assert all('name="form_token"' in form for form in forms), address
        for tag, about in Page(html).elements:
            assert tag != "style"
            assert "style" not in about
            assert not any(name.startswith(("on", "hx-on")) for name in about)
            assert tag != "script" or about["src"].startswith("/static/")
            for name in ("src", "href", "action", "hx-get"):
                assert about.get(name, "/").startswith(("/", "#")), (address, tag, about)


def test_today_says_what_is_wrong_and_what_mends_it(site):
    assert "Nothing is wrong, but no supervisor has looked" in shown(site, "/").text
    site.world.put("history.json", b"{")
    page = shown(site, "/")
    assert "recalld restore" in page.text
    assert any(about.get("data-copy") == "recalld restore" for _, about in page.elements)


@pytest.mark.parametrize(("language", "sentence"), [("en", "That is not the token"), ("zh", "这不是这份记忆的令牌")])
def test_gate_says_of_a_wrong_token_that_it_is_wrong_without_scripts(site, language, sentence):
    with site.stranger(**{**HTML, "Accept-Language": language}) as client:
        before, after = client.get("/"), client.post("/session", data={"token": "wrong"})
    told = {
        name: [(tag, "hidden" in about) for tag, about in Page(page.text).elements if about.get("id") == "wrong"]
        for name, page in {"before": before, "after": after}.items()
    }
    assert told == {"before": [("p", True)], "after": [("p", False)]}
    assert sentence in after.text


@pytest.mark.parametrize(("language", "sentence"), [("en", "No model is set"), ("zh", "没有设置模型")])
def test_sessions_promise_a_model_only_where_one_is_set(site, language, sentence):
    assert sentence in shown(site, "/sessions", language=language).text


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("/days/2026-02-30", 400),
        *((address, 404) for address in ("/days/..%2f", "/days/2019-01-01", "/days/2019-01", "/days?year=2019", "/nothing")),
    ],
)
def test_page_that_is_not_there_says_so_in_a_sentence(site, address, status):
    assert "That did not work" in shown(site, address, status).text


#: What a browser may be made to ask for; each is answered, and nothing breaks.
RUBBISH = (
    *(f"/days?year={year}" for year in ("99999", "0", "-1", "%E4%BA%8C")),
    *(f"/days/{label}" for label in ("0000-00-00", "9999-12-31", "", "2026-13")),
    *(f"/days/2026-02-14?{what}" for what in ("whole=999999999", "start=999999999999", "line=9999")),
    *(f"/search?q={what}" for what in ("%00", "%ED%A0%80", "x" * 5_000)),
    *("/forget?by=%00&value=%00", "/health?all=x", "/long-term?line=x&all=1", "/sessions?done=<b>&line=x"),
    *("/static/", "/file-now"),
)


def test_rubbish_in_an_address_is_answered_and_breaks_nothing(site):
    for address in RUBBISH:
        assert site.client.get(address, headers=HTML).status_code < 500, address
    assert site.world.events.of("error") == []


def test_page_without_the_token_says_how_to_get_in_and_nothing_else(site):
    with site.stranger(**HTML) as client:
        answer = client.get("/days/2026-02-14")
        assert answer.status_code == 401
        assert "recalld open" in answer.text
        assert "ssh" not in answer.text
        assert client.post("/session", data={"token": "x"}).status_code == 401
        assert client.post("/session", data={"token": site.token}).status_code == 303
        assert client.get("/days/2026-02-14").status_code == 200


def test_edit_of_a_summary_shows_both_where_it_has_changed(site):
    with entered(site) as client:
        html = client.get("/days/2026-01-10/edit").text
        etag = re.findall(r'name="etag" value="([^"]*)"', html)[0]
        fields = {"form_token": form_token(html), "etag": etag, "text": "我写的。"}
        assert client.post("/days/2026-01-10/edit", data=fields).status_code == 303
        assert "我写的。" in client.get("/days/2026-01-10").text
        again = client.post("/days/2026-01-10/edit", data={**fields, "text": "另一份。"})
        assert again.status_code == 412
        assert "我写的。" in again.text
        assert "另一份。" in again.text
        assert client.post("/days/2026-01-10/edit", data={"text": "x"}).status_code == 403


def test_sessions_are_kept_without_scripts_too(site):
    with entered(site) as client:
        token = form_token(client.get("/sessions").text)
        answer = client.post("/sessions/summarize", data={"form_token": token, "session": "web"})
        assert answer.headers["location"].startswith("/sessions?done=kept&line=")
        again = client.post("/sessions/summarize", data={"form_token": token, "session": "web"})
        assert "nothing to record" in client.get(again.headers["location"]).text


def test_stored_words_are_text_wherever_they_are_shown(tmp_path):
    with Service(tmp_path / "工作区") as site:
        hostile(site.world)
        places = ["/", "/days/2026-02-14", "/days/2026-02", "/days/2026-01-10", "/days/2026-02-14/edit", "/search?q=script"]
        places += ["/search?q=<script>x</script>", '/search?q="><img src=x onerror=x>&session="><b>', "/health"]
        places += ["/sessions", "/long-term?all=1", "/long-term?edit=1", "/forget?by=day&value=2026-02-14&back=//evil.example"]
        for place in places:
            answer = site.client.get(place, headers=HTML)
            assert answer.status_code == 200, (place, answer.text[-300:])
            assert len(answer.content) < 3_000_000
            page = Page(answer.text)
            assert {tag for tag, _ in page.elements}.isdisjoint(OF_ATTACKS), place
            assert all(about.get("src", "").startswith("/static/") for tag, about in page.elements if tag == "script"), place
            assert not any(name.startswith("on") for _, about in page.elements for name in about), place
            assert not any(about.get("href", "").startswith(("javascript:", "//")) for _, about in page.elements), place
            # an editor has the words as they are
            assert "edit" in place or not re.search("[\u202a-\u202e\u2066-\u2069\x00\x08\x1b]", page.text), place


def test_day_of_a_thousand_messages_is_shown_in_parts(tmp_path):
    with Service(tmp_path / "工作区") as site:
        site.world.write([{**one, "id": f"n{n}"} for n, one in enumerate(talk("2026-02-14T00:00", 1_050))])
        site.world.settle()
        first = shown(site, "/days/2026-02-14")
        assert sum("talk" in about.get("class", "") for _, about in first.elements) == 1
        assert "1 to 100 of 1,050" in first.text
        assert "101 to 200 of 1,050" in shown(site, "/days/2026-02-14?start=100").text
        assert shown(site, "/days/2026-02-14?start=99999999").text


def test_static_files_are_the_released_bytes_and_asked_for_again(site):
    (htmx,) = (HERE / "static").glob("htmx-*.min.js")
    assert hashlib.sha256(htmx.read_bytes()).hexdigest() == HTMX_SHA256
    assert HTMX_SHA256 in Path("THIRD_PARTY.md").read_text(encoding="utf-8")
    with site.stranger() as client:
        for path in (HERE / "static").iterdir():
            answer = client.get(f"/static/{path.name}")
            assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-cache")
            assert client.get(f"/static/{path.name}", headers={"If-None-Match": answer.headers["etag"]}).status_code == 304
        assert client.get("/static/nothing.js").status_code == 404
        assert client.get("/static/..%2fviews.py").status_code in (400, 404)


def test_templates_escape_and_nothing_in_them_switches_that_off():
    assert all("|safe" not in text.replace(" ", "") and "autoescape" not in text for text in TEMPLATES.values())
    assert all(" style=" not in text and "<style" not in text for text in TEMPLATES.values())


# ── forgetting ───────────────────────────────────────────────────────────────


WORDS = "今天把护照放进保险柜了。"


def way(html: str, label: str) -> str:
    """The address of the link with that label."""
    found = re.search(rf'<a class="forgets" href="([^"]*)" aria-label="{label}">', html)
    assert found, html[-2000:]
    return found[1].replace("&amp;", "&")


def fields(html: str) -> dict[str, str]:
    form = re.findall(r'<form method="post" action="/forget".*?</form>', html, re.DOTALL)[0]
    return {**dict(re.findall(r'name="(\w+)" value="([^"]*)"', form)), "form_token": form_token(html)}


def holds(site: Service, words: str) -> list[str]:
    """The files that have the words."""
    return [path.name for path in site.world.root.rglob("*") if path.is_file() and words.encode() in path.read_bytes()]


@pytest.mark.parametrize(
    ("page", "label", "words"),
    [
        ("/days/2026-02-15", "Forget this message of 09:40…", WORDS),
        ("/days/2026-02-13", "Forget this day…", "周六去爬山。"),
        ("/long-term", "Forget line 1…", "用户偏好Python"),
    ],
)
def test_what_is_forgotten_is_shown_first_and_leaves_every_file(site, page, label, words):
    with entered(site) as client:
        asked = client.get(way(client.get(page).text, label))
        assert words in asked.text
        assert "Forget this for good?" in asked.text
        assert holds(site, words)
        done = client.post("/forget", data=fields(asked.text))
        assert (done.status_code, "Forgotten" in done.text) == (200, True)
        assert f'href="{page}"' in done.text
        assert holds(site, words) == []
        gone = client.get(str(asked.url))
        assert (gone.status_code, words in gone.text) in {(200, False), (409, False)}


def test_only_what_was_shown_is_forgotten(site):
    with entered(site) as client:
        asked = client.get(f"/forget?by=match&value={quote('保险柜')}")
        site.world.add(message("8", "2026-02-15T09:50", "保险柜的密码在抽屉里。", session="web"))
        again = client.post("/forget", data=fields(asked.text))
        assert (again.status_code, "Something has changed meanwhile" in again.text) == (412, True)
        assert len(holds(site, "保险柜")) >= 1
        assert client.post("/forget", data=fields(again.text)).status_code == 200
        assert holds(site, "保险柜") == []


# ── words, as Markdown ───────────────────────────────────────────────────────


TAG = re.compile(r"<(/?)(?:b|s|code|ul|li|pre(?: class=\"block\")?|ol(?: start=\"[0-9]{1,3}\")?)>")


@pytest.mark.parametrize(
    ("words", "html"),
    [
        ("对**花生**过敏，~~芝麻~~ `x<y`", "对<b>花生</b>过敏，<s>芝麻</s> <code>x&lt;y</code>"),
        ("- **now**\n- then", "<ul><li><b>now</b></li><li>then</li></ul>"),
        ("3. 三\n5. 四", '<ol><li value="3">三</li><li value="5">四</li></ol>'),
        ("so:\n```sh\nrm -r **/*\n```\n", 'so:\n<pre class="block"><code>rm -r **/*</code></pre>'),
        ("2 ** 3, ~ 5 * 4 ~", "2 ** 3, ~ 5 * 4 ~"),
        ("<b onclick=x>**<i>**", "&lt;b onclick=x&gt;<b>&lt;i&gt;</b>"),
    ],
)
def test_marked_html_shows_marks_of_markdown_alone(words, html):
    assert marked_html(words) == html


@given(st.text(st.sampled_from("a花*~`-1. \n<>&\"'"), max_size=60))
def test_marked_html_makes_no_tag_of_words(words):
    rest = TAG.sub("", marked_html(words))
    assert "<" not in rest
    assert ">" not in rest
    assert set(unescape(rest)) <= set(words)
