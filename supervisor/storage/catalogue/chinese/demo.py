"""What `recalld demo` says, in Chinese."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "making": "正在临时文件夹里编造一年：消息、每一天、摘要。需要几秒钟。",
    "ready": "工作区在 {root}；`recalld -w {root} search …` 等命令都可以用在它上面。按 Ctrl-C 结束演示，并删除它。",
    "no_port": "{value} 不是端口号：请给 1 到 65535 之间的数，或者不写",
    "other_port": "去掉 `--port` 就会用一个空闲的端口，也可以换一个",
}
