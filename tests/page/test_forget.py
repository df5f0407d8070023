"""Forgetting on the page: what would go is shown place by place, and goes by a form that names exactly that."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest

from tests.http.service import Service
from tests.page.test_pages import entered, form_token
from tests.world import message

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
