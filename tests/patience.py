"""How long a test waits for what has to come."""

from typing import Final

#: Seconds: enough on a loaded machine that is three times as slow as ours. Where all is well, nothing waits for so long.
PATIENCE_S: Final = 120.0
