"""
The site of these pages, which `script/docs` builds with Sphinx, MyST and the theme Furo, the extra `docs`.

Why Sphinx: the site is read without a network, the build fails at a dead link or at anything that a page would load from a
network, and the search, which cuts Chinese into pairs of characters here, finds Chinese. In November 2026 MkDocs had had no
release for two years, and the pages that Zensical makes for use without a network load a script from one.

The pages are plain Markdown that GitHub shows as well. At a comment `<!-- pages: FOLDER PAGE … -->` the site lists the pages of
the folder, in the language of the page where there are such. These lists are the navigation too: a new page needs no entry.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import sphinx
from docutils import nodes
from sphinx import addnodes
from sphinx.errors import ExtensionError
from sphinx.search.en import SearchEnglish

if TYPE_CHECKING:
    from collections.abc import Callable

    from sphinx.application import Sphinx

DOCS: Final = Path(__file__).parent
CHINESE: Final = ".zh-CN"
#: What the theme writes around a Chinese page.
AROUND: Final = {
    "Back to top": "回到顶部",
    "Home": "首页",
    "On this page": "本页目录",
    "Search": "搜索",
    "Skip to content": "跳到正文",
}
#: What a browser would load from a network: anything but a link that the reader follows.
LOADED: Final = re.compile(
    r"""<(?:script|img|iframe|source|video|audio)\b[^>]*\bsrc=["']?(?:https?:)?//[^"'\s>]+"""
    r"""|<link\b[^>]*\bhref=["']?(?:https?:)?//[^"'\s>]+|@import\s[^;]*//[^;]+|url\(\s*["']?(?:https?:)?//[^)]+"""
)
#: A Chinese character, or a mark of Chinese text.
WIDE: Final = re.compile(r"[\u2e80-\u9fff\uff00-\uffef]")

project = "recalld"
html_title = "recalld"
extensions = ["myst_parser"]
myst_heading_anchors = 6  # a heading has the anchor that GitHub gives it
nitpicky = True
html_theme = "furo"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_additional_pages = {f"search{CHINESE}": "search.html"}
html_show_copyright = False
html_copy_source = False
html_use_index = False
html_search_language = "zh+en"


class BothLanguages(SearchEnglish):
    """
    English words by their stems, Chinese by its characters and pairs of characters.

    The browser cuts a question into words and asks for their pairs, but for those that only ask: "怎么备份" asks for "备份".
    """

    lang = "zh+en"
    stopwords = SearchEnglish.stopwords | {"怎么", "怎样", "如何", "什么", "为什", "哪里", "可以", "是否"}
    js_splitter_code = r"""
var splitQuery = (query) => {
  const words = typeof Intl.Segmenter === "undefined"
    ? [query]
    : [...new Intl.Segmenter("zh", { granularity: "word" }).segment(query)].map((part) => part.segment);
  const runs = words.flatMap((word) => word.match(/\p{Script=Han}+|(?:(?!\p{Script=Han})[\p{Letter}\p{Number}_])+/gu) ?? []);
  const terms = runs.flatMap((run) =>
    /\p{Script=Han}/u.test(run) && run.length > 2 ? [...run].slice(1).map((last, n) => [...run][n] + last) : [run]);
  const longer = terms.filter((term) => term.length > 1);
  return longer.length ? longer : terms;
};
"""

    def split(self, input: str) -> list[str]:  # noqa: A002 -- the name is Sphinx's
        """Return the words of the text, for the index."""
        words = re.findall(r"[^\W\u3400-\u9fff]+", input)
        for run in re.findall(r"[\u3400-\u9fff]+", input):
            words += [*run, *(run[n : n + 2] for n in range(len(run) - 1))]
        return words


def _pages(ending: str, folder: str) -> list[str]:
    """The names of the pages of a folder, in the language of that ending where there are such."""
    names = sorted(path.stem for path in (DOCS / folder).glob("*.md") if path.stem not in {"index", "README"})
    english = [name for name in names if not name.endswith(CHINESE)]
    return [f"{folder}/{name}{ending if (DOCS / folder / f'{name}{ending}.md').exists() else ''}" for name in english]


def _list_pages(_app: Sphinx, name: str, source: list[str]) -> None:
    """Put the lists of pages where the page has their comments, each called as the heading above it."""
    ending = CHINESE if name.endswith(CHINESE) else ""
    folder = Path(name).parent

    def listed(match: re.Match[str]) -> str:
        headings = re.findall(r"^## (.+)$", source[0][: match.start()], re.MULTILINE)
        caption = f":caption: {headings[-1]}\n" if headings else ""
        entries = [
            os.path.relpath(page, folder)
            for item in match[1].split()
            for page in (_pages(ending, item) if (DOCS / item).is_dir() else [item])
        ]
        return "```{toctree}\n:titlesonly:\n" + caption + "\n".join(entries) + "\n```"

    unlisted = "---\norphan: true\n---\n" if name == f"index{CHINESE}" else ""  # the English start page does not list it
    source[0] = unlisted + re.sub(r"^<!-- pages: (.+) -->$", listed, source[0], flags=re.MULTILINE)


def _link_folders(app: Sphinx, tree: nodes.document) -> None:
    """Let a link to a folder lead to its README; what is outside of docs/ has no page, and keeps its name alone."""
    for link in list(tree.findall(addnodes.pending_xref)):
        target = (DOCS / app.env.docname).parent / link["reftarget"]
        if link["refdomain"] == "doc":  # of a page, from docs/; of a heading of a file outside, from the root of the disk
            if Path(link["reftarget"]).is_absolute():
                link.replace_self(link.children)
        elif (target / "README.md").exists() and target.resolve().is_relative_to(DOCS):
            readme = (target.resolve() / "README").relative_to(DOCS).as_posix()
            link.attributes |= {"refdomain": "doc", "reftarget": readme, "reftargetid": None}
        elif target.is_dir():
            link.replace_self(link.children)


def _join_chinese(_app: Sphinx, tree: nodes.document) -> None:
    """Join the lines of a Chinese paragraph: a browser would show a blank where a line ends."""
    for whole in tree.findall(nodes.TextElement):
        parts = whole.children
        whole.children = [
            part
            for before, part, after in zip([None, *parts], parts, [*parts[1:], None], strict=False)
            if not (before and after and part == "\n" and WIDE.match(before.astext()[-1:]) and WIDE.match(after.astext()[:1]))
        ]


def _speak_chinese(app: Sphinx, name: str, _template: str, context: dict, _tree: nodes.document | None) -> None:
    """Make what is around a Chinese page Chinese: the navigation, the start page, the search."""
    context["prev"] = context["next"] = None
    if not name.endswith(CHINESE):
        return
    pathto: Callable[..., str] = context["pathto"]
    context |= {
        "language": "zh-CN",
        "master_doc": f"index{CHINESE}",
        "_": lambda text: AROUND.get(text.strip(), text),
        "gettext": lambda text: AROUND.get(text.strip(), text),
        "pathto": lambda to, *rest: pathto(f"search{CHINESE}" if to == "search" else to, *rest),
        "toctree": lambda **how: _navigation(app, name, how),
    }
    if name.startswith("search"):
        context["title"] = AROUND["Search"]
        sentences = Path(sphinx.package_dir) / "locale/zh_CN/LC_MESSAGES/sphinx.js"
        app.add_js_file(None, body=sentences.read_text(encoding="utf-8"))


def _navigation(app: Sphinx, name: str, how: dict) -> str:
    """The lists of the Chinese start page, as they are beside the page of that name."""
    listed = app.env.get_doctree(f"index{CHINESE}").findall(addnodes.toctree)
    trees = [app.env.resolve_toctree(name, app.builder, tree, **how) for tree in listed]
    return "".join(app.builder.render_partial(tree)["fragment"] for tree in trees if tree)


def _refuse_network(app: Sphinx, exception: Exception | None) -> None:
    """Fail when a built page would load anything from a network."""
    if exception:
        return
    for path in sorted(Path(app.outdir).rglob("*")):
        if path.suffix in {".html", ".css"} and (found := LOADED.search(path.read_text(encoding="utf-8"))):
            raise ExtensionError(f"{path}: {found[0]} would be loaded from a network")


def setup(app: Sphinx) -> None:
    """Connect the above with Sphinx."""
    app.add_search_language(BothLanguages)
    app.connect("source-read", _list_pages)
    app.connect("doctree-read", _link_folders)
    app.connect("doctree-read", _join_chinese)
    app.connect("html-page-context", _speak_chinese, priority=400)  # before the theme, which asks for the navigation
    app.connect("build-finished", _refuse_network)
