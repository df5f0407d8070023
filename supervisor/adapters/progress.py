"""Progress of long work, on a terminal only."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.progress import Progress, TaskID


@contextlib.contextmanager
def progress() -> Iterator[Callable[[str, int, int], None]]:
    """Give a function that is told what is done, how much of it and of how much; silent where nobody watches."""
    if not sys.stderr.isatty():
        yield lambda _what, _done, _total: None
        return
    bars: list[Progress] = []
    tasks: dict[str, TaskID] = {}

    def show(what: str, done: int, total: int) -> None:
        if not bars:  # loaded only where there is something to be shown: most commands are done at once
            from rich.console import Console
            from rich.progress import Progress

            bars.append(Progress(console=Console(stderr=True), transient=True))
            bars[0].start()
        if what not in tasks:
            tasks[what] = bars[0].add_task(what, total=total)
        bars[0].update(tasks[what], completed=done, total=total)

    try:
        yield show
    finally:
        for bar in bars:
            bar.stop()
