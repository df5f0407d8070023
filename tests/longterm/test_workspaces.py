"""A workspace that another program keeps takes long-term lines, and every byte that was there stays."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from recalld import Memory

NOW = datetime(2026, 2, 15, 4, tzinfo=UTC)
HISTORY = [{"id": "1", "role": "user", "text": "我对花生过敏", "createdAt": "2026-02-14T02:00:00.000Z", "archived": False}]
#: The files of a workspace, its long-term file first.
WORKSPACES = {
    "CountBot": {
        "memory/MEMORY.md": "2026-02-14|web-chat|项目使用Vue3+TypeScript前端；后端FastAPI+SQLAlchemy\n2026-02-14|dingtalk|用户偏好Python开发\n",
        "skills/weather/SKILL.md": "# 天气\n",
        "sessions.db": "SQLite format 3\0",
    },
    "OpenClaw": {
        "MEMORY.md": "# Long-term memory\r\n\r\n- Prefers tea\r\n\r\n## Projects\r\n\r\n| name | state |\r\n|---|---|\r\n| blog | done |",
        "memory/2026-02-14.md": "# 2026-02-14\n\n- 部署放到周五\n",
        "AGENTS.md": "Read MEMORY.md in the main session.\n",
        "SOUL.md": "Be brief.\n",
    },
    "seed 003": {
        "memory.md": "\ufeff- 用户叫小林\n- 喜欢喝普洱",
        "memory/2026-02-13-deploy.md": "周五部署，回滚脚本在 /srv/deploy/rollback.sh\n",
        "memory/summary/2026-01.md": "## 部署\n\n改成了蓝绿部署。\n",
        "history.json": json.dumps(HISTORY, ensure_ascii=False),
        "inbox.json": "[]",
    },
}


@pytest.fixture(params=WORKSPACES)
def files(request, tmp_path: Path) -> dict[Path, bytes]:
    """What is there, the long-term file first."""
    found = {tmp_path / "workspace" / name: text.encode() for name, text in WORKSPACES[request.param].items()}
    for path, data in found.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return found


@pytest.fixture
def memory(files, tmp_path) -> Memory:
    return Memory(tmp_path / "workspace", environ={}, clock=lambda: NOW)


def test_delete_of_what_was_written_brings_back_every_byte(files, memory):
    long_term, *_ = files
    for said in ("用户要求每天早上9点发送日报", "证书三月到期"):
        memory.write(said)
    assert memory.delete([line.ref for line in memory.read(recent=2).lines]).count == 2
    assert long_term.read_bytes() == files[long_term]
