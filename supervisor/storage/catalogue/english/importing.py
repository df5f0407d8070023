"""Texts of `recalld import`."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "added": "New, and in memory now: {added}, on days {days}.",
    "bomb": "{name} in it grows more than two hundred times when it is unpacked",
    "calls": "The model will be asked for summaries: {calls}; days that takes by `llm.max_calls_per_day`: {days}.",
    "client": "{label}: logs in {folder}; `recalld import {name}` adds them.",
    "cut_off": "it is cut off or damaged",
    "decrypt": "unpack it with its password, and import the folder",
    "download_again": "export or copy it again; nothing was added",
    "empty": "there is nothing in it",
    "encrypted": "it is encrypted",
    "export_again": "export it again, or give another file; nothing was added",
    "found": "{kinds}: messages {messages}, conversations {conversations}, {first} to {last}.",
    "give_dates": "say which one with --dates: dmy, mdy or ymd; nothing was added",
    "kinds": "these are read: {kinds}, Markdown notes; nothing was added",
    "known": "All of them are in memory already.",
    "next": "A running supervisor summarises them; without one, `recalld run --until-settled` does.",
    "no_archive": "it is no ZIP archive, or not a whole one",
    "no_logs": "{client} has kept no logs on this machine; give the path of a file or folder",
    "no_path": "{path} does not exist; give a file, a folder, or one of the clients that `recalld import` lists",
    "no_text": "it is no text in UTF-8",
    "note_differs": "{name} was not copied: another note has its name; rename one of them.",
    "note_too_large": "{name} was not copied: notes of more than 20 MB are not searched.",
    "notes": "Notes {notes}: copied to {folder} {copied}, there already {known}.",
    "notes_left": "Markdown notes in it that were not copied: {count}; import their folder by itself.",
    "notes_would": "Notes {notes}: would be copied to {folder} {copied}, there already {known}.",
    "nothing": "{kinds} was recognised, but there is no message in it",
    "save_utf8": "save it as UTF-8, or take it out; nothing was copied",
    "stopped": "Stopped before the end; not looked at yet: {count}. The same command goes on there, and adds nothing twice.",
    "too_large": "it is larger than 100 MB",
    "two_dates": "the dates in {name} may have the day or the month first",
    "undated": "Messages without a time of their own: {count}; they got that of their neighbours.",
    "unknown": "it is no log and no export that recalld knows",
    "unpack_yourself": "unpack it yourself, look at it, and import the folder; nothing was added",
    "unread": "Entries that could not be read: {count}.",
    "unread_in": "Entries that could not be read: {count}; {file} names them.",
    "what": "`recalld import PATH` reads a file, a folder or a ZIP archive of: {kinds}; and copies Markdown notes.",
    "would_add": "New: {added}, on days {days}. Without --dry-run they are added.",
}
