"""Texts of a fleet of workspaces, in Chinese: 工作区群."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "link": "它是一个链接；请把文件夹本身放在根目录下面",
    "unreadable": "读不了：{why}；请把它交给运行工作区群的用户",
    "second_name": "它和 {name} 是同一个文件夹；请只留一个名字",
    "endless_file": "它的 {file} 超过 {most} MiB，不会读取；请把它移走",
    "huge": "它的 {file} 超过 {most} MiB，改由一个单独的进程照管",
    "endless": "有一轮 {seconds} 秒还没结束，改由一个单独的进程照管",
    "drained": "已让出",
    "lost": "它的 .recalld 被删除或移走了，或者有磁盘挂载在它上面；请放回去，或把文件夹里剩下的也删掉",
    "gone": "这个名字下面已经没有它了",
    "shard_silent": "{shard} 号进程 {seconds} 秒没有动静；已经强行结束，会再次启动",
    "shard_ended": "{shard} 号进程结束了，会再次启动",
    "a_fleet": "一个工作区群",
    "that_of": "{root} 的工作区群",
    "give_free": "用 `recalld fleet drain {name} --root {root}` 可以让出来",
    "other_port": "请用 `--port` 换一个；0 表示任选一个空闲的端口",
    "remote": "其他机器也能连到它；确实需要的话请加 --allow-remote",
    "none_runs": "{root} 没有工作区群在运行；用 `recalld fleet --root {root}` 启动一个。",
    "name_root": "没有指定文件夹；请给出 `--root DIR`，或者设置 RECALLD_FLEET_ROOT",
    "no_root": "{root} 不是文件夹；请先建好它",
    "is_workspace": "{root} 本身就是一个工作区；请给出它上一级的文件夹",
    "is_workspace_as_well": "根目录 {root} 里有 {files}，因此它本身也成了工作区；请把它们移走：工作区群只照管根目录下面的文件夹。",
    "is_root": "{root} 是工作区群的根目录；请在它下面建工作区，例如 `recalld init -w {below}`",
    "no_workspace": "{root} 里没有叫 {name} 的工作区；用 `recalld init -w {root}/{name}` 建一个",
    "shard_row": "{shard} 号：进程号 {pid}，工作区 {workspaces} 个，持有 {held} 个，打开 {open} 个，正在做事 {running} 个，内存 {memory} MB，重启 {restarts} 次",
    "shard_away": "{shard} 号：没有回应，重启 {restarts} 次",
    "refused_row": "{name}：{why}",
    "sick_row": "{name}：进程号 {pid}",
    "name_row": "{name}",
    "drained_now": "已让出：{names}；用 `recalld fleet adopt` 可以交还给工作区群。",
    "adopted_later": "已收回：{names}；工作区群启动后由它照管。",
    "adopted_now": "工作区群现在照管：{names}。",
}
