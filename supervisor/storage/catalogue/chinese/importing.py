"""Texts of `recalld import`, in Chinese."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "added": "其中 {added} 条是新的，已存入记忆，分布在 {days} 天。",
    "bomb": "里面的 {name} 解压后会膨胀两百倍以上",
    "calls": "还要请模型写 {calls} 篇摘要；按 `llm.max_calls_per_day` 的上限，需要 {days} 天。",
    "client": "{label}：日志在 {folder}；用 `recalld import {name}` 导入。",
    "cut_off": "文件不完整或已损坏",
    "decrypt": "请用密码解压后，导入那个文件夹",
    "download_again": "请重新导出或复制一份；没有存入任何内容",
    "empty": "里面什么也没有",
    "encrypted": "文件是加密的",
    "export_again": "请重新导出，或换一个文件；没有存入任何内容",
    "found": "{kinds}：{conversations} 个会话，{messages} 条消息，{first} 到 {last}。",
    "give_dates": "请用 --dates 说明是哪一种：dmy、mdy 或 ymd；没有存入任何内容",
    "kinds": "能读的有：{kinds}、Markdown 笔记；没有存入任何内容",
    "known": "全都已在记忆里。",
    "next": "正在运行的 supervisor 会为它们写摘要；没有运行时，用 `recalld run --until-settled`。",
    "no_archive": "不是 ZIP 压缩包，或者不完整",
    "no_logs": "这台机器上没有 {client} 的日志；请给出文件或文件夹的路径",
    "no_path": "{path} 不存在；请给出文件、文件夹，或 `recalld import` 列出的某个客户端",
    "no_text": "不是 UTF-8 文本",
    "note_differs": "{name} 没有复制：已有同名的笔记；请给其中一篇改名。",
    "note_too_large": "{name} 没有复制：超过 20 MB 的笔记不会被检索。",
    "notes": "{notes} 篇笔记：复制了 {copied} 篇到 {folder}，{known} 篇已经有了。",
    "notes_left": "里面还有 {count} 篇 Markdown 笔记没有复制；请单独导入它们的文件夹。",
    "notes_would": "{notes} 篇笔记：会复制 {copied} 篇到 {folder}，{known} 篇已经有了。",
    "nothing": "认出是 {kinds}，但里面没有消息",
    "save_utf8": "请另存为 UTF-8，或者先把它拿掉；没有复制任何内容",
    "stopped": "没有做完就停下了，还有 {count} 条没有看。再执行一次同样的命令会接着做，不会重复。",
    "too_large": "超过了 100 MB",
    "two_dates": "{name} 里的日期可能是日在前，也可能是月在前",
    "undated": "{count} 条消息没有自己的时间，用了前后消息的时间。",
    "unknown": "不是 recalld 认识的日志或导出文件",
    "unpack_yourself": "请自己解压、看过之后，导入那个文件夹；没有存入任何内容",
    "unread": "有 {count} 条读不出来。",
    "unread_in": "有 {count} 条读不出来；{file} 里写明了是哪些。",
    "what": "`recalld import PATH` 可读取文件、文件夹或 ZIP 压缩包：{kinds}；也会复制 Markdown 笔记。",
    "would_add": "其中 {added} 条是新的，会存入 {days} 天；去掉 --dry-run 就会存入。",
}
