"""What is wrong with a file, and what mends it, in Chinese."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "no_progress": "看不出这个会话总结到了哪里（{kind}）",
    "delete_session": "把它删掉，整个会话会重新总结一遍",
    "repair": "请修好它或把它移开",
    "restore": "用 `recalld restore` 恢复它",
    "check_rights": "请检查它的属主和权限",
    "remount": "所在磁盘是只读挂载的，请重新挂载为可写（`mount -o remount,rw`）",
    "not_regular": "它是链接、文件夹或别的东西，不是普通文件",
    "no_folder": "它是链接或文件，而 recalld 这里需要自己的文件夹",
    "nested": "它嵌套得太深",
    "gone_with_backup": "它不见了，备份还在",
    "gone": "它不见了",
    "empty": "它是空的",
    "blank": "它只有空白",
    "not_utf8_at": "第 {at} 个字节处不是 UTF-8",
    "not_json_in_line": "第 {line} 行第 {column} 列处不是 JSON",
    "not_array": "里面是 {kind}，不是数组",
    "an_object": "对象",
    "a_string": "字符串",
    "a_number": "数",
    "a_truth_value": "真假值",
    "no_array": "里面没有数组",
    "no_messages": "{path} 里没有消息数组",
    "not_receipt": "它不是一轮对话的记录",
    "document_invalid": "存下的一篇文档无效（{kind}）",
    "index_fault": "索引库里出了 {kind}",
    "bytes_differ": "内容和写入时不一样",
    "no_manifest": "它没有有效的清单",
    "no_commit_list": "它不是一次提交的列表",
    "cut_off": "它被截断或覆盖了",
    "read_only": "它是只读的",
    "make_writable": "请改成可写（`chmod u+w`）",
    "not_utf8": "它不是 UTF-8",
    "save_utf8": "请存成 UTF-8",
    "not_json": "第 {column} 列处不是 JSON",
    "unreadable": "它读不了：{why}",
}
