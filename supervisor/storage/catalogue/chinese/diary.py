"""Texts of the diary of memory and of undoing, in Chinese."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "title": "# 记忆里发生过什么",
    "about": "recalld 写下的记录，一行一件事。写入、修改、删除和移入 trash/ 的，只要后来没有别的内容建立在它上面，用 `recalld undo 编号` 就能撤销；归档和彻底忘掉的不能。改这个文件不会改动记忆。",
    "written": "{path} 写入了一行{by}",
    "replaced": "{path} 写入了一行，代替一行旧的，旧行已失效{by}",
    "ended": "有内容被标为不再成立{by}",
    "deleted": "{path} 删掉了若干行{by}",
    "text": "{path} 的内容改了{by}",
    "summary": "写好了 {period} 的摘要{by}",
    "edited": "{period} 的摘要被修改{by}",
    "hand": "{day} 的一个按日文件被手工改过",
    "archived": "归档了 {messages} 条消息{by}",
    "forgotten": "彻底忘掉了 {messages} 条消息、{lines} 行、{files} 个文件{by}",
    "pruned": "{count} 个已有摘要的按日文件移到了 trash/{by}",
    "undone": "撤销了 {of}{by}",
    "by.python": "（程序，{what}）",
    "by.command": "（命令，{what}）",
    "by.socket": "（套接字，{what}）",
    "by.tool": "（工具，{what}）",
    "by.http": "（HTTP，{what}）",
    "would_prune": "会移到 trash/ 的文件：{count} 个（{bytes} 字节）",
    "pruned_now": "移到 trash/ 的文件：{count} 个（{bytes} 字节）；用 CHANGES.md 里的编号运行 `recalld undo` 就能拿回来",
    "uncovered": "一样久、但没有模型写的摘要覆盖而留下的文件：{count} 个",
    "no_act": "CHANGES.md 里没有编号为 {id!r} 的操作，或者撤销它所需的内容已不再保留；编号写在那一行里",
    "not_undone.archived": "归档不能撤销：这些话在它们该在的地方；要收回，请用 `recalld forget`",
    "not_undone.forgotten": "忘掉的内容已经彻底没有了，这正是忘掉的意思",
    "not_undone.hand": "这是您手工改的，请用编辑器改回去",
    "built_on": "它写下的内容后来又改过，撤销会丢掉那些改动",
    "not_kept": "原来的内容已经不再保留",
    "month_built_on": "{month} 的摘要后来用它写成；请先撤销那一个，或运行 `recalld summary redo {month}`",
    "did": "已撤销：{what}",
    "was_undone": "早已撤销，没有改动。",
}
