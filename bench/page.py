"""
The page over a memory of years beside an empty one: how soon each address answers, how many bytes it sends, its first paint.

    python -m bench.page --messages 100000 --days 730
    python -m bench.page --workspace DIR                         a workspace that is settled already; its [serve] is written

Each address is asked nine times after one that does not count. Milliseconds are medians at the client, over loopback. The first
paint is Chromium's own figure (first-contentful-paint), where there is one with Playwright (script/test-page); else it is left out.
"""

from __future__ import annotations

import argparse
import shutil
import socket
import statistics
import tempfile
import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx2

from bench.served import served, settle
from bench.talk import write_history
from tests.loopback import free_port

RUNS = 9
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or ""
HTML = {"Accept": "text/html"}


def is_open(port: int) -> bool:
    with socket.socket() as line:
        return line.connect_ex(("127.0.0.1", port)) == 0


def addresses(client: httpx2.Client) -> dict[str, str]:
    """Return the addresses that are asked, with the newest day that the workspace has."""
    days = client.post("/api/days", json={}).json()["days"]
    day = days[len(days) // 2]["day"] if days else ""
    found = {"Today": "/", "Days": "/days", "Search": "/search", "Search for “backup”": "/search?q=backup"}
    if day:
        found |= {"a day": f"/days/{day}", "a month": f"/days/{day[:7]}"}
    return found | {"Long-term": "/long-term", "Sessions": "/sessions", "Health": "/health"}


def answers(client: httpx2.Client, path: str) -> tuple[float, int]:
    """Return the median of milliseconds until the whole page is there, and its bytes."""
    client.get(path, headers=HTML).raise_for_status()
    times: list[float] = []
    size = 0
    for _ in range(RUNS):
        began = time.perf_counter()
        size = len(client.get(path, headers=HTML).content)
        times.append(1000 * (time.perf_counter() - began))
    return statistics.median(times), size


def first_paints(url: str, token: str, paths: Mapping[str, str]) -> dict[str, float]:
    """Return the median of the first paint of each page, in milliseconds; nothing without Chromium."""
    if not (CHROMIUM and find_spec("playwright")):
        return {}
    from playwright.sync_api import sync_playwright

    script = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"
    with sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        tab = browser.new_page()
        tab.goto(f"{url}/#token={token}")
        tab.wait_for_selector("nav.nav")
        found = {}
        for name, path in paths.items():
            times = []
            for _ in range(RUNS):
                tab.goto(url + path)
                while not (paint := float(tab.evaluate(script))):  # the policy forbids to wait for an expression
                    time.sleep(0.01)
                times.append(paint)
            found[name] = statistics.median(times)
        browser.close()
        return found


def serve_at(root: Path, port: int) -> None:
    """Write the port into the configuration: a supervisor with variables of its own would not answer the benchmark's socket."""
    path = root / "recalld.toml"
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    path.write_text(before.partition("\n[serve]")[0].rstrip("\n") + f"\n\n[serve]\nport = {port}\n", encoding="utf-8")


def measure(root: Path) -> dict[str, tuple[float, int, float]]:
    """Return for each page milliseconds, bytes and first paint."""
    port = free_port()
    serve_at(root, port)
    with served(root) as supervisor:
        url = f"http://127.0.0.1:{port}"
        while not is_open(port):
            time.sleep(0.1)
        token = (root / ".recalld/token").read_text().strip()
        supervisor.await_rest()
        with httpx2.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=120) as client:
            paths = addresses(client)
            found = {name: answers(client, path) for name, path in paths.items()}
        paints = first_paints(url, token, paths)
        return {name: (*one, paints.get(name, 0.0)) for name, one in found.items()}


def show(big: Mapping[str, Any], empty: Mapping[str, Any]) -> None:
    print("| page | ms | kB | first paint ms | empty: ms | kB | first paint ms |\n|---|---|---|---|---|---|---|")
    for name, (ms, size, paint) in big.items():
        other = empty.get(name)
        beside = f"{other[0]:.0f} | {other[1] / 1e3:.1f} | {other[2]:.0f}" if other else "– | – | –"
        print(f"| {name} | {ms:.0f} | {size / 1e3:.1f} | {paint:.0f} | {beside} |")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--messages", type=int, default=100_000)
    options.add_argument("--days", type=int, default=730)
    options.add_argument("--workspace", type=Path, help="a workspace that is settled (one is made)")
    given = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="page-") as folder:
        root = given.workspace
        if root is None:
            root = Path(folder) / "workspace"
            root.mkdir()
            now = write_history(root / "history.json", given.messages, given.days).isoformat()
            settle(root, now)
        empty = Path(folder) / "empty"
        empty.mkdir()
        (empty / "history.json").write_text("[]\n")
        show(measure(root), measure(empty))


if __name__ == "__main__":
    main()
