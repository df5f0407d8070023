"""Texts of `recalld append`, in Chinese."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "line_left_out": "第 {number} 行没有存入：{why}。",
    "line_dated_now": "第 {number} 行已存入，时间记作现在：{why}。",
    "output_closed": "标准输出已关闭：消息已存入，但编号打印不出来。",
    "needs": "要有 --role 和 --text，或者 --jsonl",
    "empty": "内容是空的，没有存入；请写上说了什么",
    "input_closed": "标准输入已关闭",
}
