"""The page in Chromium: entered, read by mouse and by keyboard, live, edited beside others, and attacked by what is stored."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from recalld.supervisor.interfaces.page.views import PAGES
from tests.http.service import Service
from tests.page.browser import NEEDS_CHROMIUM, Reader, chromium, reading
from tests.page.workspaces import hostile
from tests.world import message

pytestmark = NEEDS_CHROMIUM

#: The pages that are shown, and the parts of each that a press opens.
SHOWN = [
    *(address for _, address in PAGES),
    *("/days/2026-02-14", "/days/2026-01-10?line=0", "/days/2026-01", "/days/2026-01-10/edit", "/search?q=NAS"),
    *("/long-term?edit=1", "/forget?by=day&value=2026-02-14"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture
def reader(browser, site) -> Iterator[Reader]:
    with reading(browser, site) as found:
        yield found


def lines(site: Service) -> list[str]:
    return (site.world.root / "memory.md").read_text(encoding="utf-8").splitlines()


# ── entering ─────────────────────────────────────────────────────────────────


def test_token_leaves_the_address_bar_and_becomes_a_cookie(reader):
    assert reader.tab.url == f"{reader.site.url}/"
    kept = {one["name"]: one for one in reader.tab.context.cookies()}
    assert kept[f"recalld_{reader.site.port}"]["httpOnly"]
    tab = reader.open(f"/days#token={reader.site.token}")
    assert tab.url == f"{reader.site.url}/days"


def test_page_of_a_visit_that_ended_says_how_to_enter_again(reader):
    tab = reader.open("/long-term?edit=1")
    tab.fill("#content", "还没保存的一行\n")
    reader.site.world.clock.forward(hours=13)
    tab.wait_for_selector("#live[data-state=ended]")
    assert "recalld open" in tab.inner_text("#live")
    assert tab.input_value("#content") == "还没保存的一行\n"
    other = tab.context.new_page()
    other.goto(f"{reader.site.url}/#token={reader.site.token}")
    other.wait_for_selector("nav.nav")
    tab.click("#save")  # what was being written is saved once the reader has entered again
    tab.wait_for_url("**/long-term?saved=1")
    assert lines(reader.site) == ["还没保存的一行"]


# ── looks ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_page_is_wider_than_the_window_or_hard_to_use(browser, site, language, scheme, width):
    from axe_playwright_python.sync_playwright import Axe

    axe = Axe()
    with reading(browser, site, language=language, scheme=scheme, width=width) as reader:
        for address in SHOWN:
            tab = reader.open(address)
            assert tab.evaluate("document.documentElement.scrollWidth") <= width, address
            found = axe.run(tab, options={"resultTypes": ["violations"]}).response["violations"]
            serious = [
                (one["id"], node["html"][:200], node.get("failureSummary", "")[:300])
                for one in found
                if one["impact"] in ("serious", "critical")
                for node in one["nodes"]
            ]
            assert serious == [], address
            reader.refuse_attacks()


# ── by keyboard alone ────────────────────────────────────────────────────────


def test_keyboard_alone_gets_everywhere(reader):
    tab = reader.open("/")
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.className") == "skip"
    tab.keyboard.press("Enter")
    assert tab.evaluate("document.activeElement.id") == "main"
    for number, (_, address) in enumerate(PAGES):
        tab = reader.open("/")
        for _ in range(3 + number):
            tab.keyboard.press("Tab")
        with tab.expect_navigation():
            tab.keyboard.press("Enter")
        assert tab.url == reader.site.url + address


def test_calendar_is_one_stop_of_tab_and_walked_by_arrows(reader):
    tab = reader.open("/days")
    assert tab.locator("[data-calendar] a[tabindex='0']").count() == 1
    tab.focus("[data-calendar] a[tabindex='0']")
    first = tab.evaluate("document.activeElement.href")
    tab.keyboard.press("ArrowLeft")
    assert tab.evaluate("document.activeElement.href") < first
    tab.keyboard.press("ArrowRight")
    assert tab.evaluate("document.activeElement.href") == first
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/days/2026-*")


def test_search_answers_as_one_types(reader):
    tab = reader.open("/search")
    assert tab.evaluate("document.activeElement.id") == "q"
    tab.keyboard.type("过敏", delay=20)
    tab.wait_for_selector("#results mark")
    assert "q=" in tab.url
    reader.refuse_attacks()


# ── forgetting ──────────────────────────────────────────────────────────


def test_line_is_forgotten_by_mouse_after_it_was_shown(reader):
    tab = reader.open("/long-term")
    tab.hover("#line-2")
    tab.click("#line-2 .forgets")
    tab.wait_for_selector("text=周末去爬山")
    tab.click("text=Keep it")
    tab.wait_for_url("**/long-term")
    assert "周末去爬山" in "".join(lines(reader.site))
    tab.focus("#line-2 .forgets")
    tab.keyboard.press("Enter")
    tab.click("button.danger")
    tab.wait_for_selector("h1 >> text=Forgotten")
    tab.click("text=Back")
    tab.wait_for_url("**/long-term")
    assert "周末去爬山" not in "".join(lines(reader.site))
    reader.refuse_attacks()


# ── 🧠 ───────────────────────────────────────────────────────────────────────


@pytest.mark.feature("000.37")
def test_brain_pressed_twice_asks_once_spins_and_says_what_was_kept(reader):
    tab = reader.open("/sessions")
    asked: list[str] = []
    held: list[Any] = []
    tab.on("request", lambda request: asked.append(request.url) if request.method == "POST" else None)
    tab.route("**/summarize", lambda route: held.append(route))  # noqa: PLW0108 - Playwright takes no builtin
    form = tab.locator("form[data-summarize=web]")
    form.locator("button").dblclick()
    tab.click("dialog[open] button[value=yes]")
    tab.wait_for_selector("form[data-summarize=web] .spinning")
    form.locator("button").click(force=True)
    tab.locator("form[data-summarize='']").locator("button").click(force=True)
    assert tab.locator("dialog[open]").count() == 0
    held[0].continue_()
    tab.wait_for_selector(".toast")
    assert tab.locator(".spinning").count() == 0
    assert len([url for url in asked if url.endswith("/summarize")]) == 1
    assert any("保险柜" in line for line in lines(reader.site))
    tab.unroute("**/summarize")
    form.locator("button").focus()
    tab.keyboard.press("Enter")
    tab.wait_for_selector("dialog[open]")
    tab.keyboard.press("Tab")
    tab.keyboard.press("Enter")
    tab.wait_for_selector(".toast >> text=There was nothing to record.")
    reader.refuse_attacks()


def test_brain_is_called_off_by_escape_and_by_no(reader):
    tab = reader.open("/sessions")
    before = lines(reader.site)
    for leave in (lambda: tab.keyboard.press("Escape"), lambda: tab.click("dialog[open] button[value=no]")):
        tab.click("form[data-summarize=web] button")
        tab.wait_for_selector("dialog[open]")
        leave()
        tab.wait_for_selector("dialog", state="hidden")
    assert (lines(reader.site), tab.locator(".spinning").count()) == (before, 0)


# ── long-term ────────────────────────────────────────────────────────────────


@pytest.mark.feature("000.36")
def test_store_of_the_page_has_the_functions_and_shapes_of_000(reader):
    tab = reader.open("/long-term")
    text = tab.evaluate("useMemoryStore().loadLongTermMemory()")
    assert text.splitlines() == lines(reader.site)
    assert tab.evaluate("useMemoryStore().searchMemory('python fastapi')") == [
        {"line": 1, "content": "2026-01-20|web-chat|用户偏好Python；项目用FastAPI", "type": "long-term", "date": "2026-01-20"}
    ]
    assert tab.evaluate("useMemoryStore().searchMemory('  ')") == []
    tab.evaluate("(text) => useMemoryStore().saveLongTermMemory(text)", text + "2026-02-15|web-chat|新的一行\n")
    assert lines(reader.site)[-1] == "2026-02-15|web-chat|新的一行"


def test_search_in_the_lines_asks_no_server(reader):
    tab = reader.open("/long-term")
    asked: list[str] = []
    tab.fill("#local", "爬山")
    tab.wait_for_selector("#local-hits li")
    tab.on("request", lambda request: asked.append(request.url))
    tab.fill("#local", "python")
    tab.wait_for_selector("#local-hits >> text=FastAPI")
    assert asked == []


@pytest.mark.feature("000.35")
def test_editor_shows_both_where_the_file_changes_under_it(reader):
    tab = reader.open("/long-term")
    tab.click("text=Edit")
    tab.wait_for_selector("#live[data-state=on]", state="attached")
    tab.fill("#content", "2026-02-15|web-chat|我写的\n")
    reader.site.world.put("memory.md", "2026-02-15|telegram|别人写的\n")
    tab.wait_for_selector("#changed:not([hidden])")
    assert tab.input_value("#theirs") == "2026-02-15|telegram|别人写的\n"
    assert tab.input_value("#content") == "2026-02-15|web-chat|我写的\n"
    assert lines(reader.site) == ["2026-02-15|telegram|别人写的"]
    tab.click("#save")
    tab.wait_for_url("**/long-term?saved=1")
    assert lines(reader.site) == ["2026-02-15|web-chat|我写的"]
    reader.refuse_attacks()


# ── live ─────────────────────────────────────────────────────────────────────


def test_open_page_shows_what_comes_in_and_what_breaks(reader):
    tab = reader.open("/")
    reader.site.world.add(message("new", "2026-02-15T09:59", "刚刚说的一句话。"))
    tab.wait_for_selector("text=刚刚说的一句话。")
    reader.site.world.put("history.json", b"{")
    tab.wait_for_selector(".verdict .bad")


def test_page_says_when_the_supervisor_is_gone(browser, tmp_path):
    with Service(tmp_path / "工作区") as site, reading(browser, site) as reader:
        tab = reader.open("/")
        site._thread.end()
        tab.wait_for_selector("#live[data-state=gone]")
        assert "does not answer" in tab.inner_text("#live")


# ── attacked ─────────────────────────────────────────────────────────────────


def test_nothing_stored_runs_leaves_or_is_reported(browser, tmp_path):
    with Service(tmp_path / "工作区") as site:
        hostile(site.world)
        places = [*SHOWN[:7], "/days/2026-02-14", "/days/2026-02-14/edit", "/days/2026-01-10?line=0", "/long-term?edit=1"]
        places += ["/search?q=script", "/search?q=<img src=x onerror=alert(1)>"]
        with reading(browser, site) as reader:
            for place in places:
                tab = reader.open(place)
                for summary in tab.locator("main details > summary").all():
                    summary.click()
                reader.refuse_attacks()
                assert tab.title().endswith("recalld")
            tab = reader.open("/search")
            tab.keyboard.type("script window", delay=10)
            tab.wait_for_selector("#results mark")
            tab = reader.open("/long-term")
            tab.fill("#local", "script")
            tab.wait_for_selector("#local-hits li")
            reader.refuse_attacks()
            assert json.loads(tab.evaluate("JSON.stringify(window.reports)")) == []
