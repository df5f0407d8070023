"""What a search found, and why it found nothing, in Chinese."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "file_unsearched": "{path} 没有搜索：{why}",
    "too_large": "它超过 {bytes:,} 字节",
    "part_unread": "有一部分读不了",
    "time_up": "时间不够，没有搜完所有文件",
    "changed_unsearched": "改动过的文件没能全部搜索：时间不够，或者太多",
    "unfiled_unsearched": "尚未归档的 {count} 条消息没能搜索：时间不够",
    "embeddings_silent": "连不上 {where}（{kind}）",
    "reason": "{reason}",
    "reasons": "{before}；{after}",
}
