"""Texts of `recalld append`, in Chinese."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "line_left_out": "第 {number} 行没有存入：{why}。",
    "line_dated_now": "第 {number} 行已存入，时间记作现在：{why}。",
}
