"""What the proxy in front of a model server says to a client, in Chinese."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "none": "这个代理后面没有模型服务器：请在 recalld.toml 的 `[serve]` 下设置 `upstream`。",
    "session": "这不能用作会话名：请写成一行，最多 {most} 个字符。",
    "away": "连不上模型服务器 {where}（{kind}）；请启动它，或者在 recalld.toml 的 `[serve]` 下改 `upstream`。",
    "silent": "模型服务器 {where} 没有接受连接；请启动它，或者在 recalld.toml 的 `[serve]` 下改 `upstream`。",
    "dropped": "模型服务器 {where} 没有回答就断开了连接；可能它不接受这个请求，也可能刚刚重启：请再试一次，并看看它的日志。",
    "slow": "模型服务器 {where} 在 {seconds} 秒内没有回答；请再试一次，或者在 recalld.toml 里调大 `llm.timeout`。",
}
