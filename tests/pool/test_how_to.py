"""The how-to "a pool of workers", followed with a real redis-server, and a model's server of the tests; both languages say the same."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.llm.server import Server
from tests.llm.shop import long_day
from tests.pool.redis_server import PROGRAM, RedisServer

pytestmark = [
    pytest.mark.proof,
    pytest.mark.skipif(PROGRAM is None, reason="needs redis-server: apt-get install redis-server"),
]

ROOT = Path(__file__).parents[2]
#: A day of long ago: the model is asked at once. Whether its answer is a good summary is judged by the host, as ever.
TALK = "".join(
    f"recalld -w ~/memory append --role user --text '{text}' --at 2026-01-10T09:{n:02}:00.000Z > /dev/null\n"
    for n, text in enumerate(long_day(6))
)
TALK += "recalld -w ~/memory run --once > /dev/null\n"
#: Bounded waits, in tenths of a second.
WAIT = "for n in $(seq 600); do {} && break; sleep 0.1; done\n"


@pytest.fixture
def model() -> Iterator[Server]:
    with Server() as server:
        yield server


def commands(ending: str) -> list[str]:
    """What the page has its reader type, block by block."""
    page = (ROOT / f"docs/how-to/a-pool-of-workers{ending}.md").read_text(encoding="utf-8")
    return re.findall(r"```shell\n(.*?)```", page, re.DOTALL)


def test_how_to_of_a_pool_is_followed_word_for_word(tmp_path: Path, model: Server) -> None:
    blocks = commands("")
    assert (len(blocks), blocks) == (5, commands(".zh-CN"))
    with RedisServer(tmp_path) as redis:
        there = WAIT.format(f"recalld pool status --json --broker {redis.url} | grep -q 'slots\": *16'")
        written = WAIT.format("grep -qs 'summarised\\|summary_failed' ~/memory/log.jsonl")
        words = "\n".join(
            [
                *blocks[:3],
                there,
                blocks[3].replace("recalld -w ~/memory run &", f"{TALK}recalld -w ~/memory run &"),
                written,
                blocks[4],
            ]
        )
        words = words.replace("redis://127.0.0.1:6379/0", redis.url).replace("http://127.0.0.1:11434/v1", model.url)
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        environ = {"HOME": str(tmp_path), "PATH": path, "LANG": "zh_CN.UTF-8"}
        environ |= {"RECALLD_SUMMARIZE_LEAST": "0", "OPENAI_API_KEY": "none"}
        command = ["bash", "-euo", "pipefail", "-c", f"trap 'kill $(jobs -p); wait' EXIT\n{words}"]
        with (tmp_path / "printed").open("w+b") as printed:
            done = subprocess.run(command, cwd=tmp_path, env=environ, stdout=printed, stderr=subprocess.STDOUT, check=False)
    said = (tmp_path / "printed").read_text(encoding="utf-8")
    assert done.returncode == 0, said
    assert "线程" in said
    assert "2026-01" in said
    assert model.seen.calls == 1
