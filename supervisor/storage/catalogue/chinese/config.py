"""What is wrong with the configuration, in Chinese."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "order": "{smaller} 大于 {larger}（{value}）；请调低它，或调高后者",
    "bad_key": "那里的密钥含有密钥里不会有的字符；请看看贴进去的是什么",
    "network_disk": "{path} 在 {kind} 上，锁可能不起作用；请移到本机磁盘，或把这一项设为 true",
    "leads_out": "它指向工作区之外的 {path}；请改成工作区里的文件夹，或移动整个工作区",
    "little_memory": "给 {path} 留的内存太少；请调高，或设为 unlimited",
    "section_planned": "这一节还只是计划，目前没有作用；请删掉它",
    "upstream_is_ours": "这是 recalld 自己的地址（`serve.host`、`serve.port`）；请填模型服务器的地址",
    "key_planned": "这个键还只是计划，目前没有作用；请删掉它",
    "gone": "它不见了；请放回去，或重新启动 supervisor 改用默认值",
    "no_key": "没有这个键{meant}",
    "no_section": "没有这一节{meant}",
    "no_variable": "没有哪项设置用这个变量{meant}",
    "perhaps": "；可能是想写 {near}",
    "see_list": "；有哪些见 docs/reference/configuration.md",
    "not_utf8": "从第 {at} 个字节起不是 UTF-8；请存成 UTF-8",
    "nested": "它嵌套得太深；各节和键见 docs/reference/configuration.md",
    "not_toml": "它不是合法的 TOML（{what}）；请改正",
    "not_toml_at_end": "末尾不是合法的 TOML（{what}）；请改正",
    "not_toml_at": "第 {line} 行第 {column} 列不是合法的 TOML（{what}）；请改正",
    "section_twice": "第 {line} 行又写了一遍 {section}；请把两处的键都写到前一个下面",
    "key_twice": "第 {line} 行又写了一遍 {key}；请只留一个",
    "value_for_section": "这里给了 {value}，但这是一节；请写 [{name}]，键写在它下面",
    "hybrid_needs": '"hybrid" 需要 embeddings.base_url 和 embeddings.model；现改用 "bm25"',
    "no_backend": '装好的包里没有模型 {name!r}（入口 recalld.embedders）；现改用 "bm25"',
    "backend_failed": '{name!r} 启动不了（{kind}）；现改用 "bm25"',
    "not_yaml": "它不是 UTF-8 的普通 YAML；请改正，或删掉它，改用默认值",
    "no_memory_section": "它没有 `memory` 一节；请补上，或删掉文件，改用默认值",
    "unknown_memory_key": "memory.{key} 不认识；这一节只有 token_limit 和 summarize_prompt",
    "persistence": "memory.persistence 是预留的；请删掉它，把 chat_store 传给 build_chat_memory",
    "prompt_no_text": "memory.summarize_prompt 不是文本；请加上引号，或删掉它，改用默认值",
    "token_limit": "token_limit 是 {limit!r}，须是 1 或更大的整数",
}
