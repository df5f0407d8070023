"""Made-up talk of any length for the benchmarks: Chinese and English, numbers and paths, the same for the same seed."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_ZH = (
    "今天 服务器 备份 失败 决定 改用 端口 需要 明天 检查 日志 路径 同事 会议 周五 下午 三点 预算 两千 疫苗 花生 过敏 旅行 车票 "
    "预订 数据库 迁移 完成 版本 升级 部署 超时 房租 合同 医生 复查 生日 礼物"
).split()
_EN = (
    "the server backup failed because port was closed so we decided to switch and check logs tomorrow meeting on Friday budget "
    "cat vaccine peanut allergy travel ticket booked database migration finished version upgrade deploy timeout contract doctor"
).split()


def talk(count: int, days: int, seed: int = 1) -> Iterator[dict[str, object]]:
    """Yield *count* messages spread evenly over *days*, as history.json holds them."""
    pick = random.Random(seed)
    start = datetime(2024, 11, 1, 1, tzinfo=UTC)
    for n in range(count):
        at = start + timedelta(days=days) * n / count
        words = pick.choices(_ZH if pick.random() < 0.5 else _EN, k=pick.randint(8, 40))
        text = ("，" if words[0] in _ZH else " ").join(words) + f" /srv/data/{pick.randint(0, 9999)}"
        yield {
            "id": f"talk-{n:07d}",
            "role": "assistant" if n % 2 else "user",
            "text": text,
            "createdAt": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "archived": False,
        }


def write_history(path: Path, count: int, days: int) -> datetime:
    """Write a first history.json; return the moment a day after its last message."""
    messages = list(talk(count, days))
    path.write_text(json.dumps(messages, ensure_ascii=False), encoding="utf-8")
    return datetime.fromisoformat(str(messages[-1]["createdAt"])) + timedelta(days=1)
