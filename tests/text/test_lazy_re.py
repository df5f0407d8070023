"""Patterns that are compiled at their first use."""

import re

import pytest

from recalld.supervisor.text.lazy_re import lazy_re


def test_lazy_re_compiles_at_the_first_use():
    broken = lazy_re("(")
    with pytest.raises(re.error):
        broken.search("")
