"""Texts of `recalld import`."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "added": "{added} of them were new and are in memory now, on {days} days.",
    "bomb": "{name} in it grows more than two hundred times when it is unpacked",
    "calls": "The model will be asked for {calls} summaries, on {days} days by `llm.max_calls_per_day`.",
    "client": "{label}: logs in {folder}; `recalld import {name}` adds them.",
    "cut_off": "it is cut off or damaged",
    "decrypt": "unpack it with its password, and import the folder",
    "download_again": "export or copy it again; nothing was added",
    "encrypted": "it is encrypted",
    "export_again": "export it again, or give another file; nothing was added",
    "found": "{kind}: {messages} messages of {conversations} conversations, {first} to {last}.",
    "give_dates": "say which one with --dates: dmy, mdy or ymd; nothing was added",
    "kinds": "these are read: {kinds}; nothing was added",
    "known": "All of them are in memory already.",
    "next": "A running supervisor summarises them; without one, `recalld run --until-settled` does.",
    "no_archive": "it is no ZIP archive, or not a whole one",
    "no_logs": "{client} has kept no logs on this machine; give the path of a file or folder",
    "no_path": "{path} does not exist",
    "no_text": "it is no text in UTF-8",
    "note_differs": "{name} was not copied: another note has its name, or it is too large to be searched.",
    "notes": "{copied} of {notes} notes were copied to {folder}.",
    "notes_would": "{copied} of {notes} notes would be copied to {folder}.",
    "nothing": "{kind} was recognised, but there is no message in it",
    "save_utf8": "save it as UTF-8, or take it out; nothing was copied",
    "too_large": "it is larger than 100 MB",
    "two_dates": "the dates in {name} may have the day or the month first",
    "undated": "{count} messages have no time of their own; they got that of their neighbours.",
    "unknown": "it is no log and no export that recalld knows",
    "unpack_yourself": "unpack it yourself, look at it, and import the folder; nothing was added",
    "unread": "{count} entries could not be read.",
    "unread_in": "{count} entries could not be read; {file} names them.",
    "what": "`recalld import PATH` reads a file, a folder or a ZIP archive of: {kinds}; and copies Markdown notes.",
    "would_add": "{added} of them are new and would be added, on {days} days.",
}
