"""What is wrong with arguments."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "not_allowed": "{value} is not allowed, give {allowed}",
    "or_more": "{least} or more",
}
