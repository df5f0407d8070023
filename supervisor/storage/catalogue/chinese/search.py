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
    "not_whole": "没能搜完全部记忆：{why}。",
    "small_talk": "这只是寒暄，没有可搜索的内容。",
    "no_words": "还没有提问；请给出要搜索的字词。",
    "nothing": "记忆里没有相符的内容。",
    "memory_empty": "记忆还是空的，没有相符的内容。",
    "nothing_of_one": "记忆里没有相符的内容；尚未归档的 1 条消息也搜过了。",
    "nothing_of_many": "记忆里没有相符的内容；尚未归档的 {count} 条消息也搜过了。",
}
