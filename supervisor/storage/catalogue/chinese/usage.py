"""What is wrong with the words of a command, in Chinese."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "interrupted": "已中断。",
    "fault": "{fault}。用法见 `{command} --help`。",
    "question": "{fault}？用法见 `{command} --help`。",
    "hook_by_hand": "这个命令由客户端运行，事件从标准输入读取",
    "no_command": "没有 {name} 这个命令",
    "no_option": "没有 {name} 这个选项",
    "missing_argument": "缺少参数 {name}",
    "missing_option": "缺少选项 {name}",
    "missing_command": "缺少命令",
    "needs_value": "选项 {name} 需要一个值",
    "takes_no_value": "选项 {name} 不带值",
    "bad_value": "{name} 的值不对：{why}",
    "no_command_near": "没有 {name} 这个命令；相近的有 {near}",
    "no_option_near": "没有 {name} 这个选项；相近的有 {near}",
    "too_many": "多出了参数 {name}",
    "words_alone": "请这样写：`{command}`",
    "too_small": "不能是 {value}，至少是 {least}",
    "out_of_range": "不能是 {value}，要在 {least} 到 {most} 之间",
    "no_integer": "{value} 不是整数",
    "no_number": "{value} 不是数",
    "prefix": "用法：",
    "heading_options": "选项",
    "heading_arguments": "参数",
    "heading_commands": "命令",
    "options_metavar": "[选项]",
    "command_metavar": "命令 [参数]...",
    "show_help": "显示这份帮助。",
    "default": "默认：{value}",
    "required": "必填",
}
