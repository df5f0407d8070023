"""What is wrong with a time or a time zone, in Chinese."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "before_2000": "{value} 早于 2000 年，没有这么早的消息",
    "too_far": "{value} 超前太多，见 archive.future_limit",
    "no_time": "{value} 不是时间；请写成 2026-01-28T09:02:00+08:00 这样",
    "two_days": "{value} 可能是 {first}，也可能是 {second}；请写成 2026-01-28T09:02:00+08:00 这样",
    "read_since": "{value} 收到时还读不懂",
    "no_zone_data": "这台机器没有时区数据；请安装 Python 包 tzdata",
    "no_zone": "没有 {name!r} 这个时区；请用 IANA 名称，如 {near}",
    "calendar_end": "{value!r} 已到日历的尽头；年份请不要超过 {year}",
}
