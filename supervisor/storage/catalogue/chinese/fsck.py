"""The findings of `recalld fsck`, in Chinese."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "all_accounted": "{count} 条消息都在，没有问题。",
    "not_whole": "{name} 已不完整：缺了开头或结尾，或含有零字节；先停下 supervisor，再用 `recalld fsck --repair`，下一次运行会重新写出它的消息",
    "id_repeats": "消息 {id} 出现了 {count} 次：{names}",
    "copy": "{copy} 是 {kept} 的副本",
    "attachment": "{name} {state}，而 {by} 提到它：请放回一份副本，或删掉那条消息",
    "in_both": "{name} 在 memory/ 和 originals/ 里都有",
    "flag_unfounded": "消息 {id} 标为 true，却从没写进过按日文件",
    "was_in": "{id}（原在 {name}）",
    "is_gone": "不见了",
    "other_bytes": "内容和文件名对不上",
    "holds_others": "内容变了",
    "ends_early": "{name} 的 {count} 条消息只剩 {found} 条：请放回一份完整的副本，或停下 supervisor 后用 `recalld fsck --repair`；如果其余是你删的，就用 `recalld fsck --accept {name}`",
    "moved": "{name} 现在是 {path}，就从那里读",
    "not_utf8": "{name}：{why}",
}
