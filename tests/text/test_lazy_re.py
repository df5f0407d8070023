"""Patterns that are compiled at their first use answer as those of `re.compile`."""

from __future__ import annotations

import re

import pytest

from recalld.supervisor.text.lazy_re import lazy_re


@pytest.mark.parametrize("method", ["search", "match", "fullmatch", "finditer", "findall", "split"])
def test_lazy_re_answers_as_the_compiled_pattern(method):
    lazy, compiled = (make(r"(?P<digits>\d+)|port", re.IGNORECASE) for make in (lazy_re, re.compile))
    answers = [getattr(pattern, method)("端口 2222 和 80, Port 443") for pattern in (lazy, compiled)]
    assert len({str([*answer] if method == "finditer" else answer) for answer in answers}) == 1


def test_lazy_re_compiles_at_the_first_use():
    broken = lazy_re("(")
    with pytest.raises(re.error):
        broken.search("")
