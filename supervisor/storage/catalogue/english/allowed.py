"""What a key of the configuration may be."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "truth": "true or false",
    "backend": '"auto", "bm25", "use", "e5", "hybrid" or the name of an installed model',
    "time": 'a time from "{least}", such as "30s", "10m", "6h" or "1d" (a bare number counts seconds)',
    "times": 'a list of times, such as ["10m", "30m", "2h"]',
    "size": 'a size from "{least}", such as "500KB", "10MB" or "1GiB" (a bare number counts bytes)',
    "names": "a list of names of sessions",
    "patterns": "a list of regular expressions, in Python's spelling",
    "address": 'an address such as "http://127.0.0.1:8080", or ""',
    "zone": 'an IANA name such as "Asia/Shanghai"',
    "host": "a host name or address",
    "name": "a name on one line",
    "text": "a text on one line",
    "command": "a command on one line",
    "hours": 'hours such as "22:00-07:00", or ""',
    "variable": "the name of an environment variable, never the key itself",
    "given": "what is given",
    "one_of": "{most} or {last}",
    "long_number": "a number of that length",
    "whole_from": "a whole number from {least} up",
    "whole_between": "a whole number from {least} to {most}",
    "number_from": "a number from {least} up",
    "number_between": "a number from {least} to {most}",
    "broker": 'an address such as "rediss://redis.example:6379/0", or ""',
    "prefix": "a short name of small letters, digits, - and _",
}
