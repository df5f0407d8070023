"""Patterns that are compiled at their first use are those that `re.compile` returns."""

from __future__ import annotations

import re

import pytest

from recalld.supervisor.text.lazy_re import lazy_re

TEXT = "端口 2222 和 80, Port 443"


@pytest.mark.parametrize("method", ["search", "match", "fullmatch", "finditer", "findall", "split"])
def test_lazy_re_answers_as_the_compiled_pattern(method):
    lazy, compiled = lazy_re(r"(?P<digits>\d+)|port", re.IGNORECASE), re.compile(r"(?P<digits>\d+)|port", re.IGNORECASE)

    assert _plain(getattr(lazy, method)(TEXT)) == _plain(getattr(compiled, method)(TEXT))


def test_lazy_re_replaces_and_tells_of_itself_as_the_compiled_pattern():
    lazy, compiled = lazy_re(r"(?P<digits>\d+)"), re.compile(r"(?P<digits>\d+)")

    assert lazy.pattern == compiled.pattern
    assert lazy.sub("*", TEXT) == compiled.sub("*", TEXT)
    assert (lazy.flags, lazy.groups, dict(lazy.groupindex)) == (compiled.flags, compiled.groups, dict(compiled.groupindex))


def test_lazy_re_compiles_at_the_first_use():
    broken = lazy_re("(")

    with pytest.raises(re.error):
        broken.search(TEXT)


def _plain(found: object) -> object:
    """Return the matches as what was found and where."""
    if found is None or isinstance(found, list):
        return found
    matches = [found] if isinstance(found, re.Match) else list(found)  # type: ignore[call-overload]
    return [(match.span(), match.groupdict()) for match in matches]
