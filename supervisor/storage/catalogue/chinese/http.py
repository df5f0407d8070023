"""What the HTTP service refuses, and why it is not there, in Chinese."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "failed": "出错了；log.jsonl 里的 error 事件记录了出错的位置。",
    "token": "需要这个工作区的令牌：运行 `recalld open`，或在请求头里带上 Authorization: Bearer 令牌。",
    "host": "请求的 Host 不是本服务的地址；请使用 `recalld open` 给出的地址。",
    "origin": "请求来自其他网站的页面，不予受理。",
    "form_token": "这个表单已经失效；请刷新页面，再提交一次。",
    "many": "正在处理的请求太多；请稍后再试。",
    "no_http": "这不是有效的 HTTP 请求。",
    "no_path": "这个地址下没有内容；给程序用的地址见 `/openapi.json`，网页在 `/`。",
    "no_method": "这个地址不接受该方法；响应头 Allow 列出了可用的方法。",
    "no_json_body": "请求体的类型必须是 application/json。",
    "no_json": "不是 JSON。",
    "no_form": "不是表单。",
    "field_twice": "这个字段出现了两次；请只给一次。",
    "unwritable": "文本中不能有 NUL 字符或半个表情符号；请去掉。",
    "head_too_large": "请求头太大；最多 {bytes} 字节。",
    "too_large": "请求体太大；最多 {bytes} 字节。",
    "off": "`serve.port` 是 0",
    "switch_on": "请在 recalld.toml 的 `[serve]` 下设置 `port = 8377`",
    "no_supervisor": "这个工作区没有 supervisor 在运行",
    "start_supervisor": "请用 `recalld run` 或 `recalld service install` 启动",
    "no_token": "supervisor 还没有启动 HTTP 服务",
    "look_at_status": "`recalld status` 会说明原因",
    "port_taken": "HTTP 服务没有启动：端口 {port} 正被其他程序占用。请结束那个程序，或在 recalld.toml 的 `[serve]` 中换一个 `port`。",
    "port_forbidden": "HTTP 服务没有启动：当前用户无权使用端口 {port}。请在 recalld.toml 的 `[serve]` 中设置 1023 以上的 `port`。",
    "port_address": "HTTP 服务没有启动：{host} 不是本机的地址。请在 recalld.toml 的 `[serve]` 中把 `host` 设为本机的地址，例如 127.0.0.1。",
    "port_remote": 'HTTP 服务没有启动：其他机器可以访问 {host}。请在 recalld.toml 的 `[serve]` 中设置 `host = "127.0.0.1"`；如果允许其他机器访问，则设置 `allow_remote = true`。',
}
