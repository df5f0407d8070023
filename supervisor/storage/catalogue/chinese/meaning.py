"""What the keys of the configuration mean, as `recalld init` writes it, in Chinese."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "file": "这个工作区的配置。所有的键、默认值和含义见 docs/reference/configuration.md。",
    "variables": "每个键也可以用环境变量设定，以变量为准：RECALLD_RECALL_MAX_HITS=0。",
    "timezone": "按哪个时区分天；`init` 设成这台机器的时区。改动不会移动已有的文件。",
    "base_url": "与 OpenAI 兼容的服务器的地址（Ollama 监听 11434 端口）。",
    "model": "模型在那台服务器上的名字。",
    "least": "一天的话少于这么多词，或摘录已经逐条引全了，就用摘录，不调用模型；0 表示都问模型。",
    "max_calls_per_day": "每天最多为摘要调用几次模型；0 表示一次也不调用。",
    "backend": "用什么查找：`auto`（按字词，有 supervisor 时也按意思）、`bm25`（按字词）、`use` 或 `e5`（按字词，并用这个模型按意思找）、`hybrid`（按字词，并用 [embeddings] 的服务按意思找），或装好的模型。",
    "meaning": "意思最接近的一段最多加多少分，按字词最高分的比例计；0：只按字词。",
    "max_hits": "记忆块里最多放几条；0 表示不限。",
    "memory_tokens": "记忆块的 token 预算，也是工具回答的预算。",
    "history_tokens": "对话块的 token 预算。",
    "redact": "在哪里隐去密码和密钥。llm：在为写摘要、算向量而发给模型的文字里；store：除此之外，消息、长期记忆和轮次记录在保存之前就换成标记；off：都不隐去。llm 和 off 时，记忆和索引保留原文。文件名和 log.jsonl 里没有；一轮对话里显示什么见 reveal。",
    "port": "HTTP 服务和页面的端口，例如 8377；0：不提供服务。",
    "upstream": "代理（`/v1`）后面的模型服务器，例如 http://127.0.0.1:11434/v1；它的密钥来自 `llm.api_key_env`。",
    "direct": "只有本人在看的会话，哪怕有消息或名字说它是群聊。",
    "reveal": "在私聊的记忆块里显示问题所问的密码和密钥（redact = off 时全部显示）；false：一律不显示，对话块里也不显示。群聊里一律不显示。",
    "skip": "除内置规则外，客户端为自己发出的提示词（例如起标题）的匹配规则：符合的请求不加记忆，也不保存。",
    "pool_url": "工作池所用的 Redis 或 Valkey，之后所有任务都由池里的 worker 做，比如 rediss://redis.example:6379/0；密码写在变量 RECALLD_POOL_URL 里。留空：在本机启动 worker。",
}
