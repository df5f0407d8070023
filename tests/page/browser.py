"""Real Chromium, as a reader of the page uses it; what it asks for elsewhere, and what its policy reports, is kept."""

import contextlib
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any, Final

import pytest

from tests.http.service import Service

CHROMIUM: Final = shutil.which("chromium") or shutil.which("chromium-browser") or ""
#: For a module of tests: they need Debian's chromium and `recalld[browser]`; script/test-page has both.
NEEDS_CHROMIUM: Final = [
    pytest.mark.browser,
    pytest.mark.skipif(not (CHROMIUM and find_spec("playwright")), reason="no Chromium here: script/test-page"),
]
#: Keeps what the policy reports, before a page can run anything.
_KEEP_REPORTS: Final = """
window.reports = [];
document.addEventListener("securitypolicyviolation", (event) => window.reports.push(`${event.violatedDirective} ${event.blockedURI}`));
"""


class Reader:
    """A tab of a browser that has entered; *outside* are the addresses that it asked for elsewhere, *errors* those of scripts."""

    def __init__(self, tab: Any, site: Service) -> None:
        self.tab, self.site = tab, site
        self.outside: list[str] = []
        self.errors: list[str] = []
        tab.on("request", self._requested)
        tab.on("pageerror", lambda error: self.errors.append(str(error)))

    def _requested(self, request: Any) -> None:
        if not request.url.startswith((self.site.url, "data:", "blob:")):
            self.outside.append(request.url)

    def open(self, path: str) -> Any:
        """Show the page at this path, live, and return the tab."""
        self.tab.goto(self.site.url + path)
        self.tab.wait_for_selector("#live[data-state=on]", state="attached")
        return self.tab

    def refuse_attacks(self) -> None:
        """Fail if anything of what is stored ran, left, or was stopped only by the policy."""
        assert self.tab.evaluate("window.attacked") is None
        assert self.tab.evaluate("window.reports") == []
        assert (self.outside, self.errors) == ([], [])


@contextlib.contextmanager
def chromium() -> Iterator[Any]:
    """A browser without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as tools:
        made = tools.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield made
        made.close()


@contextlib.contextmanager
def reading(browser: Any, site: Service, *, language: str = "en", scheme: str = "light", width: int = 1280) -> Iterator[Reader]:
    """A reader who has entered, with this language, colour scheme and width of the window."""
    context = browser.new_context(
        viewport={"width": width, "height": 800}, color_scheme=scheme, locale="zh-CN" if language == "zh" else "en-GB"
    )
    context.add_init_script(_KEEP_REPORTS)
    context.set_default_timeout(30_000)
    tab = context.new_page()
    reader = Reader(tab, site)
    tab.goto(f"{site.url}/#token={site.token}")
    tab.wait_for_selector("nav.nav")
    yield reader
    context.close()
