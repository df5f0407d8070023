from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.http.service import Service
from tests.page.workspaces import lived_in

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def site(tmp_path) -> Iterator[Service]:
    """The service over a workspace that was lived in for some weeks."""
    with Service(tmp_path / "工作区") as found:
        lived_in(found.world)
        yield found
