"""Why a file is not TOML, in Chinese."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "overwrite": "这个名字前面已经用过",
    "value": "值写错了，文字要放在英文引号里",
    "statement": "这一行既不是键，也不是节",
    "key_character": "键名的第一个字符不对",
    "date": "日期或时间写错了",
    "equals": "键后面要有等号",
    "after_value": "值后面有多余的内容",
    "table_end": "节名后面缺 ]",
    "array_open": "列表缺 ]",
    "string_open": "引号没有成对",
    "character": "不能有字符 {character}，可能是引号没有成对",
    "backslash": "反斜杠要写两个，或改用单引号",
}
