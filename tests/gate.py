"""
The gate without the rules that compare an answer with its material, for the proofs of the pipeline.

Their models say a few words, on purpose, so that a state is small; what the gate refuses is tested in tests/summaries.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import pytest

from recalld.supervisor.summaries import quality

#: The reasons of the rules that compare.
_COMPARE = {"vague", "new", "copy", "transcript", "form"}


@contextmanager
def without_comparison() -> Iterator[None]:
    """Judge answers by their own form alone."""
    rules = tuple((rule, reason) for rule, reason in quality.RULES if reason not in _COMPARE)
    with patch.object(quality, "RULES", rules):
        yield


@pytest.fixture(autouse=True)
def models_may_say_little() -> Iterator[None]:
    """Judge so in every test of the folder whose conftest has this fixture."""
    with without_comparison():
        yield
