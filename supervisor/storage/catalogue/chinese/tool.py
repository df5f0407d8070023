"""What tools answer to a model, in Chinese."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "counted": "记忆库共 {total} 条",
    "memory_empty": "记忆为空",
    "no_keywords": "请提供搜索关键词",
    "no_valid_keywords": "请提供有效的搜索关键词",
    "nothing_with": "未找到包含 {keywords} 的记忆",
    "and": "{before} 和 {after}",
    "or": "{before} 或 {after}",
    "left_out": "共 {count} 条匹配，仅显示前 {shown} 条",
    "line_written": "已写入记忆第 {line} 行（共 {total} 条）",
    "written": "已写入记忆",
    "by_digest": "要写成编号加校验值，如 42@1f3a9c0d，取自搜索、读取或写入的结果",
    "deleted": "已删除 {count} 条记忆（共 {total} 条）",
    "refs": "行号@校验值: {refs}",
    "see_log": "请再搜一次，或看 log.jsonl 里的 recall_failed 和 file_unread；用 `recalld doctor` 可看怎样修好",
    "see_doctor": "用 `recalld doctor` 可看怎样修好",
    "none": "无",
}
