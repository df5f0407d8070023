"""The worker as a process. The supervisor starts this file by its path, so that no other package `worker` can be started."""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    from worker.main import main

    sys.exit(main())
