"""
What a worker holds in memory while the model's server answers without end, and the processor time that a call costs it.

    python -m bench.answers                  a minute
    python -m bench.answers --seconds 30     how long an endless answer may last at most

Each answer is asked for by a process of its own, from the scripted server of the tests; its highest resident size is reported. A call is
one of 50 that are answered at once; the client is made again for each.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

ANSWERS = ("say", "endless line", "endless lines", "endless error", "gzip bomb")
CALLS = 50


def ask(url: str, seconds: float, calls: int) -> None:
    """Ask *calls* times, then print the highest resident size in MB, the milliseconds of processor a call, and the last error."""
    from recalld.worker.providers import ProviderError
    from recalld.worker.providers.openai import OpenAi

    model = OpenAi(model="scripted", base_url=url, temperature=0.3, timeout_s=seconds)
    why, before = "", 0.0
    for n in range(calls + 1):
        if n == min(1, calls):  # the first call pays for what is loaded once
            before = time.process_time()
        try:
            model.complete("花生", max_tokens=64, calling=lambda: None, cancelled=lambda: False)
        except ProviderError as error:
            why = error.why.partition(":")[0]
        if calls == 1:
            break
    spent = (time.process_time() - before) * 1000 / calls
    print(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f}|{spent:.1f}|{why}")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seconds", type=float, default=9)
    options.add_argument("--ask", help=argparse.SUPPRESS)
    options.add_argument("--calls", type=int, default=1, help=argparse.SUPPRESS)
    found = options.parse_args()
    if found.ask:
        ask(found.ask, found.seconds, found.calls)
        return
    from tests.llm.server import Server

    print("| answer | highest resident MB | ms of processor a call | ended with |\n|---|---|---|---|")
    for act in ANSWERS:
        with Server() as server:
            server.play(act)
            calls = CALLS if act == "say" else 1
            command = [sys.executable, __file__, "--ask", server.url, "--seconds", str(found.seconds), "--calls", str(calls)]
            size, spent, why = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip().split("|")
        print(f"| {act} | {size} | {spent} | {why or 'the answer'} |", flush=True)


if __name__ == "__main__":
    main()
