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
    "must_be": "它必须是{kind}，不能是{given}",
    "must_be_texts": "它必须是 {kind}，每一项都是文字",
    "tool_needs": "{tool} 需要它",
    "tool_lacks": "{tool} 没有这个参数，它的参数有 {names}",
    "tool_refuses": "{tool} 不接受它：它由启动 recalld 的人设定，模型不能指定",
    "no_tool": "没有这个工具；可用的有 {names}",
    "no_json_object": "它不是 JSON 对象",
    "not_number": "它必须是数，不能是 {kind}",
    "not_mapping": "它必须是变量名到值的映射，不能是 {kind}",
    "not_clock": "它必须是返回当前时间的函数，不能是 {kind}",
    "no_chat": "{value!r} 不是 direct、group 或 channel",
    "not_messages": "它必须是一条消息，或一组消息，不能是 {kind}",
    "not_command": "它必须是有 command 和 path 的对象，不能是 {kind}",
    "not_message": "它必须是有 role 和 text 的对象，不能是 {kind}",
    "owner_alone": "只有主人可以用，而这次是在群里要求的",
    "no_operation": "没有 {name!r} 这个操作；有 {names}",
    "text": "文字",
    "whole_number": "整数",
    "number": "数",
    "texts_list": "一组文字",
    "object": "对象",
    "list": "列表",
    "truth": "真假值",
    "ids": "编号",
}
