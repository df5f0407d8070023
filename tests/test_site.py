"""The site of docs/, built as script/docs does: nothing leads nowhere, nothing comes from a network, Chinese is found."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("myst_parser", reason="the site needs the extra docs: script/docs installs it, and builds the site")
pytest.importorskip("furo", reason="the site needs the extra docs: script/docs installs it, and builds the site")

pytestmark = pytest.mark.proof

DOCS = Path(__file__).parent.parent / "docs"


def build(docs: Path, site: Path) -> tuple[int, str]:
    """The exit code, and what was said."""
    words = (sys.executable, "-m", "sphinx", "-W", "--keep-going", "-E", "-q", str(docs), str(site))
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    assert build(DOCS, folder) == (0, "")
    return folder


def links(page: Path) -> set[str]:
    """The pages that the navigation beside the page leads to."""
    beside = page.read_text(encoding="utf-8").partition('<div class="sidebar-tree">')[2].partition('<div class="main">')[0]
    return {(page.parent / link).resolve().name for link in re.findall(r'href="([^"#]+\.html)"', beside)}


def test_site_navigation_leads_to_each_page_in_the_language_of_the_reader(site):
    pages = {path.stem for path in DOCS.rglob("*.md")} - {"index", "index.zh-CN"}
    chinese = {name for name in pages if name.endswith(".zh-CN")}
    translated = {name.removesuffix(".zh-CN") for name in chinese}
    assert links(site / "index.html") >= {f"{name}.html" for name in pages - chinese}
    beside = links(site / "index.zh-CN.html")
    assert beside >= {f"{name}.html" for name in pages - translated}
    assert not beside & {f"{name}.html" for name in translated}


def test_site_speaks_chinese_around_a_chinese_page(site):
    page = (site / "tutorial/first-memory.zh-CN.html").read_text(encoding="utf-8")
    assert 'lang="zh-CN"' in page
    assert 'placeholder="搜索"' in page
    assert 'action="../search.zh-CN.html"' in page
    prose = re.sub(r"<pre>.*?</pre>", "", page, flags=re.DOTALL)
    assert not re.search(r"[一-鿿，。：；]\n[一-鿿]", prose), "a blank in a sentence"
    assert '"Search Results": "\\u641c' in (site / "search.zh-CN.html").read_text(encoding="utf-8")


@pytest.mark.skipif(not shutil.which("node"), reason="node cuts a question as a browser does, and is not here")
def test_site_search_asks_for_words_that_are_in_its_index(site):
    questions = ["怎么备份", "青霉素过敏 provider_paused", "care.quiet_hours=22-07", "写不进磁盘"]
    asked = ["怎么 备份", "青霉 霉素 过敏 provider_paused", "care quiet_hours 22 07", "不进 磁盘"]
    splitter = (site / "_static/language_data.js").read_text(encoding="utf-8").partition("var splitQuery")[2]
    program = f"var splitQuery{splitter}; console.log(JSON.stringify({json.dumps(questions)}.map(splitQuery)))"
    done = subprocess.run(["node", "-e", program], capture_output=True, text=True, check=True)
    assert [" ".join(words) for words in json.loads(done.stdout)] == asked
    index = json.loads((site / "searchindex.js").read_text(encoding="utf-8").removeprefix("Search.setIndex(").removesuffix(")"))
    known = {*index["terms"], *index["titleterms"]}
    assert {"备份", "青霉", "霉素", "磁盘", "provider_paus", "quiet_hour"} - known == set()


@pytest.fixture
def small(tmp_path):
    """Pages of a site that a test writes."""
    docs = tmp_path / "docs"
    docs.mkdir()
    for name in ("conf.py", "site.css"):
        shutil.copy(DOCS / name, docs)
    (docs / "index.zh-CN.md").write_text("# 首页\n", encoding="utf-8")
    return docs


def test_site_has_the_name_alone_of_what_is_outside_of_docs(small):
    (small.parent / "贡献.md").write_text("# 贡献\n\n## 提交\n", encoding="utf-8")
    text = "# 首页\n\n[怎么提交](../贡献.md#提交)，[整页](../贡献.md)，[文件夹](..)，[主页](index.zh-CN.md#首页)\n"
    (small / "index.md").write_text(text, encoding="utf-8")
    site = small.parent / "site"
    assert build(small, site) == (0, "")
    page = (site / "index.html").read_text(encoding="utf-8").partition("怎么提交")
    assert 'href="' not in page[0].rpartition("<p>")[2] + page[2].partition("，")[0]
    assert not (site / "_downloads").exists()


def test_site_is_refused_with_a_dead_link_or_something_from_a_network(small):
    text = '# 首页\n\n[去](没有.md)\n\n[这里](index.zh-CN.md#没有)\n\n<img src="https://example.invalid/图.png">\n'
    (small / "index.md").write_text(text, encoding="utf-8")
    code, said = build(small, small.parent / "site")
    assert code != 0
    for wrong in ("没有.md", "'没有'", "https://example.invalid"):
        assert wrong in said
