from collections.abc import Iterator

import pytest

from tests.http.service import NOW, Service
from tests.page.workspaces import lived_in
from tests.world import WITHOUT_MODEL, World, at


@pytest.fixture(scope="session")
def lived(tmp_path_factory) -> World:
    """A workspace that was lived in for some weeks, which a test copies."""
    world = World(tmp_path_factory.mktemp("lived"), at(NOW), WITHOUT_MODEL)
    lived_in(world)
    return world


@pytest.fixture
def site(lived, tmp_path) -> Iterator[Service]:
    """The service over a workspace of that kind."""
    lived.copied(tmp_path / "工作区")
    with Service(tmp_path / "工作区") as found:
        yield found
