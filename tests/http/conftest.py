from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.http.service import Service

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def service(tmp_path) -> Iterator[Service]:
    """The service over an empty workspace."""
    with Service(tmp_path / "工作区") as found:
        yield found
