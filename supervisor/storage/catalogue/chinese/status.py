"""The first lines of `recalld status`, in Chinese."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "backup_failed": "{time} 的夜间备份失败了：{why}；用 `{command}` 再试一次。",
    "on_trouble_failed": "care.on_trouble 的命令失败了：{why}；请在 recalld.toml 里改正。",
    "model_paused": "没有写出摘要：{reason}；{time} 之前不再问模型。",
    "worker_ended": "有 {count} 篇摘要没有完成：worker 没给出结果就结束了；运行 `recalld worker` 可看到原因。",
    "well": "一切正常；supervisor 正在运行。",
    "well_unsupervised": "一切正常；supervisor 没有运行，用 `recalld run` 启动。",
    "rjieba": "没有装 rjieba，装上后中文搜索启动更快：`pip install rjieba`。",
    "history_invalid": "history.json 读不了：{why}；用 `recalld restore` 恢复它。",
    "waits_unsupervised": "从 {time} 起就有消息等着归档，而 supervisor 没有运行；请用 `recalld run` 启动。",
    "config_refused": "recalld.toml 改错了；supervisor 仍按改之前的配置运行。",
    "index_stale": "新的记忆暂时搜不到。",
    "words_alone": "目前只按字词查找记忆。",
    "attachments_gone": "消息里提到的图片或文件有 {count} 个不见了，第一个是 {name}；有副本的用 `recalld fsck --repair` 找回，其余的用 `recalld fsck` 列出。",
    "entries_odd": "history.json 里有 {count} 项不是消息，无法归档，第一个是第 {number} 项：{why}；请改正或删掉，用 `recalld fsck` 可看还剩几项。",
    "no_model": "没有模型写摘要：{why}；填好后用 `recalld model test` 试一下。",
    "no_model_until": "{time} 之前不用模型写摘要：{why}；想马上再问一次，用 `recalld model test`。",
    "backlog": "{label} 的摘要屡次失败：{why}；想再试一次，用 `recalld summary redo {label}`。",
    "logged": "详情见 log.jsonl 里的 {event}。",
    "days_gone": "有 {files} 个按日文件不见了，第一个是 {name}，其中 {count} 条消息不在别的文件里；用 `recalld fsck --repair` 让下次归档重新写出。",
    "days_lost": "丢了 {count} 条消息，第一条原在 {name} 里，这个文件不见了；用 `recalld fsck` 列出，用 `recalld fsck --repair` 找它们的副本。",
    "days_damaged": "有 {count} 个按日文件坏了，第一个是 {name}；用 `recalld fsck` 看坏在哪里，用 `recalld fsck --repair` 修好能修的。",
    "found_on": "{time} 查到：{why}。",
}
