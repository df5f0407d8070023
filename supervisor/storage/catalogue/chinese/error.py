"""The sentences of errors, in Chinese."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "bad_config": "{key}：{why}。",
    "bad_request": "{field}：{why}。",
    "not_imported": "{path} 不能导入：{why}；{mend}。",
    "not_found": "{path} 不存在；请核对路径，它从工作区算起。",
    "nothing_asked": "还没有向记忆提过问题，没有可解释的；用 `recalld inject --query` 提一个。",
    "no_turn": "没有 {path} 这一轮：编号形如 {newest}，这是最近一轮；看它直接用 `recalld why`，turns/ 里每一轮有一个文件。",
    "stale_line": "{ref} 不是现在那一行的编号：{found}；什么也没有改。",
    "bad_file": "{path} 读不了：{why}；{mend}，它没有被覆盖。",
    "unchangeable": "{path} 不能改动：{why}；{mend}。文件保持原样。",
    "bad_backup": "{path} 不是完好的备份：{why}；什么也没有解开，请换一份备份。",
    "busy": "{path} 正被另一个程序占用，等了 {waited_s:g} 秒仍未空出；请再试一次。",
    "already_runs": "{root} 里已有 {who} 在运行；{mend}。",
    "a_supervisor": "一个 supervisor",
    "use_that": "请用它，或先停下它：在它的终端按 Ctrl-C，装成服务的用 `systemctl --user stop recalld`",
    "lock_lost": "supervisor 运行时 {root}/.recalld 被删除或移走了，或者有磁盘挂载在它上面；它即将停止，请重新启动。",
    "no_workspace": "{root} 里没有工作区，也没有新建；请挂载它所在的磁盘，或把它移回来；要新建一个，用 `recalld init`。",
    "stale_text": "{path} 在读取之后被改过，什么也没有写入；请把两份文本合并后再保存。",
    "conflict": "{path} 刚刚被另一个程序改过；请再试一次。",
    "newer_format": "{path} 的格式是 {found}，由更新的 recalld 写成；请升级 recalld 后再打开。",
    "storage_error": "{path} 读写失败：{why}；请检查磁盘和剩余空间。",
    "no_process": "系统无法再启动进程或线程：{why}；请结束别的程序，或提高进程数（ulimit -u）或内存的上限。",
    "no_permission": "{path} 无法访问：{why}；{mend}。",
    "no_service": "服务无法运行：{why}；{mend}。",
    "service_forbidden": "无权管理服务：{why}；{mend}。",
    "no_summary": "没有写成摘要：{why}；原有的内容不变，请稍后再试。",
    "no_unit": "没有装服务，{path} 不存在；用 `recalld service install` 安装。",
    "foreign_unit": "{path} 不是 `recalld service install` 为这个工作区生成的样子；请把它移开，要改单元文件请用 `systemctl edit`。",
    "internal_error": "{step} 出了意料之外的错误（{kind}，位于 {where}）；请报告给我们。",
}
