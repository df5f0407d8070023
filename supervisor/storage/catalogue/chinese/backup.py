"""What is wrong with a backup or its folder, in Chinese."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "foreign": "它不是 recalld 做的，或者缺了一部分",
    "file_differs": "其中的 {name} 和放进去时不一样",
    "not_a_file": "其中的 {name} 是链接、文件夹或设备",
    "leads_out": "其中的 {name} 指向文件夹之外",
    "bad_name": "其中的 {name} 不能作文件名",
    "list_differs": "其中的文件和清单对不上",
}
