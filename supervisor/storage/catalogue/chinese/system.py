"""Why the system refuses to read or write, in Chinese."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "enospc": "磁盘已满",
    "eacces": "没有权限",
    "eperm": "不允许这样做",
    "erofs": "文件系统只读",
    "eio": "磁盘读写出错",
    "eisdir": "它是文件夹",
    "enotdir": "它不是文件夹",
    "efbig": "文件太大，超出了系统的限制",
    "enametoolong": "文件名太长",
    "eagain": "资源暂时不足",
    "enomem": "内存不足",
    "emfile": "打开的文件太多",
    "enoent": "没有这个文件",
}
