"""What is wrong with a prompt, in Chinese."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "not_utf8": "它不是 UTF-8；请存成 UTF-8，或删掉它，改用 recalld 自带的写法",
    "lacks": "它缺少 {{{name}}}；请补上，或删掉这个文件，改用 recalld 自带的写法",
    "no_entry": "用它写出的行不是一条记忆；请写成一行，以 {{date}}|{{source}}| 开头，{{content}} 出现一次",
    "unknown": "没有 {name!r} 这个提示词；请给 {names} 之一",
    "no_language": "提示词没有 {language!r} 这种语言；请给 zh 或 en",
}
