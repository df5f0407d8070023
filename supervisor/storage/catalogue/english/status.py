"""The first lines of `recalld status`."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "backup_failed": "the nightly backup failed on {time}: {why}; `{command}` tries again.",
    "on_trouble_failed": "the command of care.on_trouble failed: {why}; correct it in recalld.toml.",
    "model_paused": "no summary was written: {reason}; the model is not asked again before {time}.",
    "worker_ended": "summaries are unfinished ({count}): the worker ended without a result; `recalld worker` shows why.",
    "well": "all is well; the supervisor runs.",
    "well_unsupervised": "all is well; no supervisor runs, `recalld run` starts one.",
    "rjieba": "Chinese is searched sooner with rjieba, which is not installed: `pip install rjieba`.",
    "history_invalid": "history.json can't be read: {why}; `recalld restore` puts it together again.",
    "waits_unsupervised": "messages wait to be written since {time}, and no supervisor runs; start one with `recalld run`.",
    "config_refused": "recalld.toml was changed and is wrong; the supervisor keeps the configuration before it.",
    "inbox_invalid": "inbox.json is no JSON, so what waits in it is not read; mend the file, or delete it.",
    "index_stale": "new memories are not found for now.",
    "words_alone": "memories are found by their words alone for now.",
    "attachments_gone": "pictures or files of messages are gone ({count}), the first is {name}; `recalld fsck --repair` brings back those of which there is a copy, `recalld fsck` lists the others.",
    "entries_odd": "entries of history.json can't be filed ({count}), the first is entry {number}: {why}; correct or delete them, `recalld fsck` counts what is left.",
    "no_model": "no model writes summaries: {why}; `recalld model test` asks it then.",
    "no_model_until": "no model writes summaries until {time}: {why}; `recalld model test` asks it now.",
    "inbox_unread": "entries of inbox.json without words are answered by nobody ({count}); give them a `text`, or delete them.",
    "inputs_wait": "inputs in inbox.json that wait for an answer: {count}, the first since {time}.",
    "inputs_set_aside": "inputs that got no answer that can be used: {count}, kept in {file}; ask again with another id, or delete the file and put the input back.",
    "model_worse": "{model} writes worse summaries than extracts: {refused} of its last {of} answers were refused; a larger model, or none, serves you better.",
    "backlog": "the summary of {label} fails again and again: {why}; `recalld summary redo {label}` tries once more.",
    "logged": "{why}.",
    "days_gone": "dated files are gone ({files}), the first is {name}, and messages of theirs are in no other ({count}); `recalld fsck --repair` has the next run write them again, `recalld fsck --accept {name}` accepts it if you deleted that one.",
    "days_lost": "messages are lost ({count}), the first was in {name}, which is gone; `recalld fsck` lists them, `recalld fsck --repair` looks for copies of them, `recalld fsck --accept {name}` accepts it if you deleted that one.",
    "day_moved": "{name} is now {path}, and is read there.",
    "times_unread": "the times of messages can't be read ({count}), and they are filed under the days they came; the first is in {name}: {why}. Correct createdAt there and delete createdAtFound; where the day is right, `recalld fsck --accept-times` says so of all.",
    "times_unread_yet": "the times of messages in history.json can't be read ({count}), and they will be filed under the days they came; the first is entry {number}: {why}. Correct createdAt there and delete createdAtFound.",
    "days_damaged": "dated files are damaged ({count}), the first is {name}; `recalld fsck` says how, `recalld fsck --repair` mends what can be mended.",
    "days_cut": "dated files end before their last messages ({count}), the first is {name}; `recalld fsck --repair` brings them back; if you deleted them, `recalld fsck --accept {name}`, or `recalld forget --removed`, which takes them out of every other place, too.",
    "found_on": "found on {time}: {why}.",
    "unread": "messages of a damaged history.json could not be read (about {count}, {bytes} bytes); they are kept in {path}: mend a copy of it and `recalld restore --from` that copy, or `recalld restore --give-up {name}` if nothing in it is wanted.",
    "unread_encoded": "messages of a damaged history.json could not be read (about {count}, {bytes} bytes), since it is {encoding}, not UTF-8; they are kept in {path}: `{command}`, then `recalld restore --from mended.json`, or `recalld restore --give-up {name}` if nothing in it is wanted.",
    "dropped_unread": "files of inbox.d/new are not understood and are not taken in ({count}), the first is {name}: {why}; correct it, or delete it.",
    "not_utf8": "files are not in UTF-8 ({count}), the first is {name}: {why}.",
}
