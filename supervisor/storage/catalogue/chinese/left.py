"""Texts of what earlier versions had, in Chinese."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "demo": "命令里不再有演示：在克隆的仓库里运行 `script/demo`，看 recalld 怎样处理一段示例对话。",
    "chat": '不再自带聊天：设置 `[turns] reply = "worker"` 之后，任何程序都可以把问题写进 inbox.json，在 history.json 里得到回答；用 `recalld connect` 把这份记忆接到你的助手上；用 `recalld inject --query 文字` 看记忆里有什么。',
    "redact": '`redact` 已经取消：已经保存的密码用 `recalld forget --match 文字` 收回；在 recalld.toml 里设置 `[privacy] redact = "store"`，以后保存前就换成标记。',
    "metrics": "不再提供 Prometheus 格式的数据：这些数字都在 `recalld status --json` 里，有问题时退出码是 65。",
    "gateway": "网关已经取消：在各个工作区的 recalld.toml 里设置 `[serve] port`，每个工作区就在自己的端口上提供 HTTP 服务；需要统一入口时，请在前面放一个 Web 服务器，把 /w/NAME/ 转发到对应的端口。",
    "fleet_status": "工作区群不再有单独的状态：用 `recalld -w 文件夹 status` 看一个工作区，用 `systemctl status 'recalld*'` 看各个服务。",
    "fleet_drain": "不再需要让出或交还工作区：用 `systemctl stop recalld@NAME` 停止一个工作区的服务；.fleet/drained 里有同名文件的工作区，`recalld fleet` 不会去动。",
    "service_fleet": "工作区群不再有自己的单元：用 `recalld -w 文件夹/NAME service install --name NAME` 给每个工作区装一个服务。",
    "linger": "recalld 不再改动登出的设置：想在没有登录时也让服务继续运行，请用 `loginctl enable-linger`；`service install` 不再加这个选项。",
    "force": "`service install` 不再把单元文件移开：请用 `mv` 移开它；如果是工作区搬走之前的，用 `recalld service uninstall` 卸载。然后不加 `--force` 再执行一次。",
}
