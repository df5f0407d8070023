"""What is wrong with a backup or its folder, in Chinese."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "foreign": "它不是 recalld 做的，或者缺了一部分",
    "file_differs": "其中的 {name} 和放进去时不一样",
    "not_a_file": "其中的 {name} 是链接、文件夹或设备",
    "bad_name": "其中的 {name} 指向文件夹之外，或者不能作文件名",
    "list_differs": "其中的文件和清单对不上",
    "no_folder": "{folder} 不存在；请先建好文件夹",
    "in_workspace": "{folder} 在工作区里；请把备份放到别处，最好是另一块磁盘",
    "unknown_file": "这个工作区不认识 {file}；请把它移走，或者给每个工作区单独一个文件夹",
    "disk_scarce": "再放一份备份，剩余空间就不足 {count} MiB 了",
    "none": "没有设备份；请用 --backup-to 指明文件夹",
    "exists": "{file} 已经存在，备份不会覆盖文件；请换个名字",
    "folder_filled": "{folder} 不是空文件夹；请另给一个新的",
    "no_file": "{file} 不是文件；请核对路径",
    "no_history": "{path} 是整个工作区的备份，不是 history.json 的副本；请用 `recalld backup restore FILE --into DIR` 解开它",
    "other_memory": "-w：这份备份不是 {root} 的，没有用它。",
    "as_of": "恢复的是 {time} 时的记忆；那之后忘掉的内容会跟着回来。要再忘一次，方法见 `recalld -w {into} forget --help`；忘掉它们的工作区还在的话，也可以用 `-w` 指明它，重新恢复一次。",
}
