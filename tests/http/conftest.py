from collections.abc import Iterator

import pytest

from tests.http.service import Service


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory) -> Iterator[Service]:
    """The service over a workspace that no test of the module changes: it is asked for what it refuses, or to read."""
    with Service(tmp_path_factory.mktemp("unchanged") / "工作区") as found:
        yield found


@pytest.fixture
def service(tmp_path) -> Iterator[Service]:
    """The service over an empty workspace."""
    with Service(tmp_path / "工作区") as found:
        yield found
