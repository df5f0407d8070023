"""What is wrong with the argument of a caller, in Chinese."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "not_allowed": "不能是 {value}，请给 {allowed}",
    "or_more": "{least} 或更大的数",
    "not_text": "它必须是文字，不能是 {kind}",
    "not_list": "它必须是一组 {of}，不能是 {kind}",
    "line_numbers": "行号",
    "not_folder_path": "它必须是文件夹的路径，不能是 {kind}",
    "no_workspace": "{root} 不存在；用 `recalld init -w {same}` 建一个",
    "file_for_folder": "{root} 是文件，不是文件夹",
    "not_whole_number": "它必须是整数，不能是 {kind}",
    "bad_slug": "{slug!r} 只能有 a-z、0-9 和 -",
    "texts": "文字",
}
