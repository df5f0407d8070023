"""The start of the command `recalld`."""

from __future__ import annotations

from recalld.supervisor.interfaces.entry import main

if __name__ == "__main__":
    main()
