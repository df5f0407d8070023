"""What a key of the configuration may be, in Chinese."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "truth": "true 或 false",
    "backend": '"auto"、"bm25"、"use"、"e5"、"hybrid" 或装好的模型的名字',
    "time": '不短于 "{least}" 的时长，如 "30s"、"10m"、"6h"、"1d"（只写数字就是秒数）',
    "times": '一组时长，如 ["10m", "30m", "2h"]',
    "size": '不小于 "{least}" 的大小，如 "500KB"、"10MB"、"1GiB"（只写数字就是字节数）',
    "names": "一组会话的名字",
    "patterns": "一组正则表达式，用 Python 的写法",
    "address": '一个地址，如 "http://127.0.0.1:8080"，或者 ""',
    "zone": 'IANA 名称，如 "Asia/Shanghai"',
    "host": "主机名或地址",
    "name": "一行以内的名字",
    "text": "一行文字",
    "command": "一行以内的命令",
    "hours": '时段，如 "22:00-07:00"，或者 ""',
    "variable": "环境变量的名字，不是密钥本身",
    "given": "现在的值",
    "one_of": "{most} 或 {last}",
    "long_number": "位数太多的数",
    "whole_from": "不小于 {least} 的整数",
    "whole_between": "{least} 到 {most} 之间的整数",
    "number_from": "不小于 {least} 的数",
    "number_between": "{least} 到 {most} 之间的数",
    "broker": '"rediss://redis.example:6379/0" 这样的地址，或 ""',
    "prefix": "由小写字母、数字、- 和 _ 组成的短名称",
}
