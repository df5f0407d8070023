"""Texts of `recalld append`, in Chinese."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "line_left_out": "第 {number} 行没有存入：{why}。",
    "line_dated_now": "第 {number} 行已存入，时间记作现在：{why}。",
    "line_undated": "第 {number} 行和同样的各行已存入，时间记作现在：消息的时间要写在 `createdAt` 里，不是 `{key}`；用 `recalld forget` 可以收回。",
    "output_closed": "标准输出已关闭：消息已存入，但编号打印不出来。",
    "left": "配置有错，内容先存在 inbox.d/new，等配置正确的 supervisor 收进记忆：{why}。",
    "needs": "要有 --role 和 --text，或者 --jsonl",
    "empty": "内容是空的，没有存入；请写上说了什么",
    "secret.llm": '里面好像有密码之类的内容：文件里照原样保存，给模型看时会隐去；用 `recalld forget` 可以收回；设置 `[privacy] redact = "store"` 之后，保存前就换成标记。',
    "secret.store": "里面好像有密码之类的内容：存入时已换成标记。",
    "input_closed": "标准输入已关闭",
}
