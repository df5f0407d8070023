"""Words on the page: Markdown is shown, and whatever else stands in them is text."""

from __future__ import annotations

import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.interfaces.page.wording import marked_html

TAG = re.compile(r"<(/?)(?:b|s|code|ul|li|pre(?: class=\"block\")?|ol(?: start=\"[0-9]{1,3}\")?)>")


@pytest.mark.parametrize(
    ("words", "html"),
    [
        ("对**花生**过敏，~~芝麻~~ `x<y`", "对<b>花生</b>过敏，<s>芝麻</s> <code>x&lt;y</code>"),
        ("- **now**\n- then", "<ul><li><b>now</b></li><li>then</li></ul>"),
        ("3. 三\n4. 四", '<ol start="3"><li>三</li><li>四</li></ol>'),
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
