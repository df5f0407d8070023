"""Texts of the long-term file, in Chinese."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "line_is": "现在是 {line}，{text}",
    "no_line": "那里没有行",
    "too_large": "它会超过 {bytes:,} 字节，那样就搜不到了",
    "delete_first": "请先删掉一些行",
    "several_files": "请分成几个文件来写",
    "no_session": "没有消息属于会话 {session!r}；请照消息里写的给出",
    "nothing_written": "内容是空的，什么也没有写；请给出要记住的话",
    "too_long": "它有 {count:,} 个字，什么也没有写；最多 {most:,} 个字",
    "no_ref": "{ref!r} 不是一行的编号，什么也没有改；请给出行号和校验值，如 42@1f3a9c0d",
    "two_digests": "第 {number} 行给了两个校验值，什么也没有改；请给出对的那个",
    "no_lines": "没有指明哪一行，什么也没有改；请给出行号和校验值，如 42@1f3a9c0d",
    "no_fact": "第 {line} 行是标题、代码或表格，不能这样替换；请直接改文件",
    "says_it": "第 {line} 行说的就是这个；请写现在的情况",
    "which_item": "第 {line} 行写了几件事，看不出是哪一件不再成立，什么也没有写；请给出第几件，如 --item 2（item）：{items}",
    "no_item": "第 {line} 行有 {count} 件事，没有这个序号，什么也没有写；请从这些里选：{items}",
    "item_alone": "它是 `replaces` 那一行里的第几件事；请把那一行也写上",
    "ended_already": "第 {line} 行早已失效（{until}）；{found}",
    "ended_before": "从 {until} 起它就不再算数，没有改动",
    "none_stands": "没有别的行代替它",
    "unseen_unshared": "在这里写入的内容，这次对话看不到，除非主人在那一行加上 `#shared`。",
    "mark_taken": "已去掉标记：带 `#共享` 的行群里看得到，带 `#置顶` 的行每次对话都给出，都只能由主人加上。",
    "pinned_by_owner": "`# 始终` 下面的行每次对话都会给出，只能由主人写；请写在别的标题下面。",
    "unseen_closed": "在这里写入的内容，这次对话看不到：这里不显示任何记忆（`recall.in_groups`）。",
    "nothing_new": "这个会话没有新的、值得记下的内容；加 `--again` 会重新总结全部。",
    "nothing_to_record": "这个会话没有需要记录的内容。",
    "empty": "记忆为空。",
    "one_of": "只能给一个行号，或 --start 和 --end，或 --recent",
    "written": "已写入记忆第 {line} 行（共 {total} 条）",
    "written_plain": "已写入记忆。",
    "replaced": "第 {line} 行已划掉：只有问到过去时才会出现。",
    "others": "这一行的其他内容仍然有效，现在是第 {line} 行。",
    "ended": "{place} 从 {until} 起不再成立；只有问到过去时才会出现。",
    "nothing_to_end": "它不是一行记忆、一条消息或摘要的一行；请给出 42@1f3a9c0d、消息的 id，或 memory/summary/2026-01-15.md#L7",
    "long_reason": "它有 {count:,} 个字；最多 {most:,} 个字",
    "saved": "已保存到记忆第 {line} 行（共 {total} 条）",
    "known": "记忆里已有，在第 {line} 行（共 {total} 条）",
}
