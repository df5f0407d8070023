"""The pool of workers, in Chinese."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "no_key": "变量 {name} 里没有密钥；`recalld pool key` 会打印一个新的，主机和池里的 worker 都要用它",
    "bad_key": "变量 {name} 里不是 base64 写的 32 字节密钥；`recalld pool key` 会打印一个",
    "short": "这个任务需要的调用比预留的多",
    "busy": "池里的模型现在不接新的调用",
    "spent": "池今天的预算用完了",
    "ended_twice": "做它的 worker 两次中途结束",
    "not_installed": "工作池需要 recalld[pool]，这里没有装：`pip install 'recalld[pool]'`",
    "no_file": "没有 {path}；池里的模型写在这个文件里，每个一节 [providers.名称]，见 docs/how-to/a-pool-of-workers.zh-CN.md",
    "no_providers": "里面没有模型：请写一节 [providers.default]，给出 base_url 和 model",
    "bad_address": "工作池的地址不是 redis:// 或 rediss://",
    "unreachable": "连不上 {server} 的 Redis（{kind}）；请启动它，或者改正 pool.url",
    "wrong_password": "{server} 的 Redis 不认这个用户或密码；请在 RECALLD_POOL_URL 里改正",
    "no_rights": "{server} 上 Redis 的这个用户权限不够；工作池要的权限见 docs/how-to/a-pool-of-workers.zh-CN.md",
    "full": "{server} 的 Redis 内存用完了；请调大 maxmemory",
    "tls_fails": "和 {server} 建不成 TLS：rediss:// 地址要求服务器开 TLS，而且证书为本机所信任",
    "too_old": "这是 Redis {version}，工作池要 6.2 或更新的版本，或者 Valkey",
    "evicts": "它的 maxmemory-policy 是 {policy}，会丢掉任务；请设成 noeviction",
    "no_tls": "{server} 是另一台机器，而地址没有用 TLS；请用 rediss://",
    "foreign": "前缀 {prefix} 下的 {key} 不是工作池的；请换一个 pool.prefix",
    "mend": "`recalld doctor --broker` 可以检查",
    "nobody": "没有 supervisor 把任务送到工作池，或者池子不接；用 `recalld pool status` 看看",
    "refused_key": "有任务是用另一个密钥封的；主机和 worker 的 RECALLD_POOL_KEY 必须相同",
    "refused_newer": "有任务来自更新的 recalld；请更新这个 worker",
    "refused_changed": "有任务在路上被改动或截断，不做",
    "refused_profile": "有任务要用的一节在 pool.toml 里没有；见 pool.profile",
    "good": "{server}：Redis {version}，noeviction，worker 共 {slots} 个线程",
    "echo_good": "一个封好的任务 {ms} 毫秒后从 worker 回来了",
    "echo_none": "{seconds} 秒内没有 worker 回答；用 `recalld worker --broker` 启动一个",
    "echo_refused": "worker 打不开任务：{why}",
    "no_url": "没有配置工作池；请设 pool.url，或者给出 --broker",
    "flushed": "删了 {count} 个键；在外面的任务会重新送去",
    "paused": "{name} 的模型 {seconds} 秒内不问",
    "goes_on": "{name} 的模型又可以问了",
}
