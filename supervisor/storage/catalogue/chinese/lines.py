"""What is wrong with a citation of lines, in Chinese."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "from_one": "行号从 1 数起",
    "beyond": "{path} 一共 {count} 行",
    "cited_already": "#{cited} 已经说明是哪几行",
    "no_citation": "#{cited} 不是引用；应像 #L4-L6,L9",
    "ends_early": "#{cited} 的结尾在开头之前；应像 #L4-L6,L9",
    "goes_back": "#{cited} 的行号没有按顺序排；应像 #L4-L6,L9",
    "no_memory_file": "{path!r} 不是记忆文件；应像 memory/2026-01-28-deploy.md",
    "through_link": "{path!r} 经过了链接",
    "is_folder": "{path!r} 是文件夹；请给其中一个文件的名字",
}
