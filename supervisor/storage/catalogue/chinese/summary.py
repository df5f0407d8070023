"""Texts of summaries that are asked for, in Chinese."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "no_dated_file": "记忆里没有 {label} 的按日文件，无从写摘要",
    "no_period": "{label!r} 不是一天（2026-01-28），也不是一个月（2026-01）",
    "queued": "{group} 已排队，由 supervisor 处理。",
}
