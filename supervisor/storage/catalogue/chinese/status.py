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
    "inbox_invalid": "inbox.json 不是 JSON，里面等着的提问读不到；请改好这个文件，或者删掉它。",
    "index_stale": "新的记忆暂时搜不到。",
    "words_alone": "目前只按字词查找记忆。",
    "attachments_gone": "消息里提到的图片或文件有 {count} 个不见了，第一个是 {name}；有副本的用 `recalld fsck --repair` 找回，其余的用 `recalld fsck` 列出。",
    "entries_odd": "history.json 里有 {count} 项不是消息，无法归档，第一个是第 {number} 项：{why}；请改正或删掉，用 `recalld fsck` 可看还剩几项。",
    "no_model": "没有模型写摘要：{why}；填好后用 `recalld model test` 试一下。",
    "no_model_until": "{time} 之前不用模型写摘要：{why}；想马上再问一次，用 `recalld model test`。",
    "inbox_unread": "inbox.json 里有 {count} 条没有文字，没有谁会回答；请补上 `text`，或者删掉。",
    "inputs_wait": "inbox.json 里有 {count} 条输入在等回答，最早的从 {time} 等到现在。",
    "inputs_set_aside": "有 {count} 条输入没有得到可用的回答，保存在 {file}；请换一个 id 再问，或删除该文件后把输入放回去。",
    "model_worse": "{model} 写的摘要还不如摘录：最近 {of} 次回答里有 {refused} 次没有通过；换一个更大的模型，或者不用模型。",
    "backlog": "{label} 的摘要屡次失败：{why}；想再试一次，用 `recalld summary redo {label}`。",
    "logged": "详情见 log.jsonl 里的 {event}。",
    "days_gone": "有 {files} 个按日文件不见了，第一个是 {name}，其中 {count} 条消息不在别的文件里；用 `recalld fsck --repair` 让下次归档重新写出；这个文件是你删的，就用 `recalld fsck --accept {name}`。",
    "days_lost": "丢了 {count} 条消息，第一条原在 {name} 里，这个文件不见了；用 `recalld fsck` 列出，用 `recalld fsck --repair` 找它们的副本；这个文件是你删的，就用 `recalld fsck --accept {name}`。",
    "day_moved": "{name} 现在是 {path}，就从那里读。",
    "times_unread": "有 {count} 条消息的时间读不懂，归到了收到那天；第一条在 {name} 里：{why}。请在那里改正 createdAt 并删掉 createdAtFound；如果就是那天说的，用 `recalld fsck --accept-times` 全部确认。",
    "times_unread_yet": "history.json 里有 {count} 条消息的时间读不懂，会归到收到那天；第一条在第 {number} 项：{why}。请在那里改正 createdAt 并删掉 createdAtFound。",
    "days_damaged": "有 {count} 个按日文件坏了，第一个是 {name}；用 `recalld fsck` 看坏在哪里，用 `recalld fsck --repair` 修好能修的。",
    "days_cut": "有 {count} 个按日文件缺了末尾的消息，第一个是 {name}；用 `recalld fsck --repair` 找回；是你删的，就用 `recalld fsck --accept {name}`，或者用 `recalld forget --removed` 把它们从别处也去掉。",
    "found_on": "{time} 查到：{why}。",
    "unread": "损坏的 history.json 里约有 {count} 条消息读不出来（{bytes} 字节），保存在 {path}：复制一份修好，再用 `recalld restore --from` 补回来；里面的都不要了，用 `recalld restore --give-up {name}`。",
    "unread_encoded": "损坏的 history.json 里约有 {count} 条消息读不出来（{bytes} 字节），因为它是 {encoding}，不是 UTF-8；原文保存在 {path}：先 `{command}`，再 `recalld restore --from mended.json`；里面的都不要了，用 `recalld restore --give-up {name}`。",
    "dropped_unread": "inbox.d/new 里有 {count} 个文件看不懂，没有收进来，第一个是 {name}：{why}；请改正或删掉。",
    "not_utf8": "有 {count} 个文件不是 UTF-8，第一个是 {name}：{why}。",
}
