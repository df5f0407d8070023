"""
The start of the command `recalld`.

A user's own `supervisor.py`, `worker.py` or `prompts/`, on PYTHONPATH or in the working folder, must never be imported instead.
"""

from __future__ import annotations

import sys

from recalld import HOME


def main() -> None:
    """Put recalld's own folder first on the path, then run the command and end with its exit code."""
    if sys.path[0] != HOME:
        sys.path.insert(0, HOME)
    from supervisor.interfaces.entry import main as run

    run()


if __name__ == "__main__":
    main()
