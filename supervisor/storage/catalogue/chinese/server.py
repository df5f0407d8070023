"""What the server of a model did, in Chinese."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "too_large": "请求太大，服务器不接受",
    "prompt_long": "提示词超出了模型的上下文长度",
    "bad_key": "服务器不认这个密钥",
    "no_credit": "账户余额不足",
    "no_model": "服务器上没有这个模型",
    "no_model_or_url": "服务器上没有这个模型，或者 base_url 写错了",
    "filtered": "服务器的内容过滤拒绝了它",
    "rejects": "服务器不接受这个请求",
    "gave_up": "服务器等得太久，放弃了",
    "slow_down": "服务器要求放慢请求",
    "broke_off": "服务器中断了回答",
    "loading": "服务器还在加载模型",
    "fault": "服务器出了故障",
    "elsewhere": "服务器要求转到别处；请在 llm.base_url 里直接写能应答的地址",
    "no_chat": "这个地址不提供 `chat completions` 接口",
    "no_completion": "服务器返回的不是 `chat completion`；请检查 base_url",
    "endless": "服务器的回答没完没了",
    "compressed": "服务器擅自压缩了回答",
    "unreachable": "连不上服务器",
    "timeout": "服务器没有按时回答",
    "connection_broke": "回答到一半连接断了",
    "length": "回答因长度上限被截断",
    "refused": "模型拒绝了",
    "empty": "回答是空的",
    "only_thought": "回答里只有思考过程",
}
