"""What Anthropic's memory tool refuses, in Chinese."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "no_memory": "{path!r} 不是记忆；请给以 .md 结尾的文件",
    "inside_itself": "{path!r} 在原来的路径里面；请换一个",
    "kept": "{path!r} 由 recalld 保管，只能看，不能改；请写到 memory.md 或笔记里",
    "never_read": "记忆从不读取名为 {name!r} 的文件；请换个普通的名字",
    "long_name": "{name!r} 有 {count} 字节，太长了，改动时没法留下旧版本；请换一个不超过 {most} 字节的名字",
    "file_name": "{name!r} 是文件的名字；请给文件夹换一个",
    "not_found": "{name!r} 搜不到；请用以 .md 结尾的名字",
    "for_user": "这个工具会给出整个文件，只供用户本人使用；群聊请用其他工具",
    "needs": "{command} 少了它，什么也没有做",
    "lacks": "{command} 没有这个参数；可用的是 {names}",
    "no_range": "它必须是两个整数：第一行和最后一行",
}
