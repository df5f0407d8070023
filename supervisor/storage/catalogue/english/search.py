"""What a search found, and why it found nothing."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "file_unsearched": "{path} is not searched: {why}",
    "too_large": "it is larger than {bytes:,} bytes",
    "part_unread": "a part of it could not be read",
    "time_up": "time was up before all files were searched",
    "changed_unsearched": "not all changed files could be searched: time was up, or there are too many",
    "unfiled_unsearched": "{count} messages that are not filed yet could not be searched: time was up",
    "embeddings_silent": "{where} could not be asked ({kind})",
    "reason": "{reason}",
    "reasons": "{before}; {after}",
}
