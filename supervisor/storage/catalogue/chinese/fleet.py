"""Texts of `recalld fleet` in Chinese: 工作区群."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "a_fleet": "一个工作区群",
    "name_root": "没有指定文件夹；请给出 `--root 文件夹`，或设置 RECALLD_FLEET_ROOT",
    "no_root": "{root} 不是文件夹；请先建立它",
    "is_workspace": "{root} 本身就是工作区；请给出它上面的文件夹",
    "is_root": "{root} 是工作区群的根目录；请在它下面建工作区，例如 `recalld init -w {below}`",
    "leaves": "{root} 里的每个工作区现在各用一个进程，`recalld fleet` 会在下一个版本里取消；用 `recalld service install` 可以把工作区群的单元换成每个工作区各自的服务 recalld@NAME.service（见 docs/how-to/many-workspaces.zh-CN.md）。",
    "no_longer_read": "{file} 不再读取，可以删掉。",
    "ended": "{name}：进程已结束，退出码 {code}；{seconds} 秒后重新启动。",
    "not_started": "{name}：系统无法启动它的进程：{why}；十分钟后再试。",
    "none_here": "{root} 里现在没有工作区；请先挂载它的磁盘，或用 `recalld service remove fleet` 删除这个单元",
    "turned": "{root} 里的 {count} 个工作区都有了自己的服务 recalld@NAME.service；{unit} 已删除。",
    "not_turned": "这些工作区没能装上服务，仍由 {unit} 照管：{names}",
    "give_again": "请先解决上面说的问题，再执行一次这条命令",
}
