"""A memory for the tools: long-term lines, a day of talk, a note, and a group that listens to none of it."""

from tests.world import World, message

#: Line 6 is blank, line 7 is a person's own Markdown.
LONG_TERM = """\
2026-01-02|web-chat|用户偏好Python开发；IDE使用VS Code
2026-01-03|telegram|项目使用FastAPI后端；Python 3.11
2026-01-04|web-chat|用户对花生过敏；点外卖要备注
2026-01-05|cron|每天早上9点发送日报
2026-01-06|web-chat|周五团建在海边烧烤 #shared

- 书房的 NAS 每天凌晨三点备份
2026-01-07|web-chat|the spare key is with Mrs Lindqvist
"""
GROUP = "agent:main:telegram:group:-1001"


def remembered(world: World) -> World:
    """The world with that memory in it."""
    world.write(
        [
            message("1", "2026-01-28T09:00", "备份脚本上传超时，端口改成 8443。"),
            message("2", "2026-01-28T09:01", "Noted: the upload now uses port 8443.", "assistant"),
            message("3", "2026-01-29T09:00", "群里说好：烧烤的木炭由小周带。", session=GROUP, chat="group"),
        ]
    )
    world.settle()
    world.put("memory.md", LONG_TERM)
    world.put("memory/people.md", "# People\n\nAnna likes tea.\n\nBo plays the violin.\n")
    world.put("recalld.toml", world.toml)
    return world
