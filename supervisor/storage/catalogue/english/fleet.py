"""Texts of a fleet of workspaces."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "link": "it is a link; put the folder itself below the root",
    "unreadable": "it can't be read: {why}; give it to the user of the fleet",
    "second_name": "it is the same folder as {name}; give it one name",
    "endless_file": "its {file} has more than {most} MiB, which is not read; move it away",
    "huge": "its {file} has more than {most} MiB, so it gets a process of its own",
    "endless": "a round did not end within {seconds} s, so it gets a process of its own",
    "drained": "it was given free",
    "lost": "its .recalld was deleted or moved away, or a disk was mounted over it; put it back, or remove the rest of the folder",
    "gone": "it is no longer there under that name",
    "shard_silent": "shard {shard} gave no sign of life for {seconds} seconds; it is killed and started again",
    "shard_ended": "shard {shard} has ended, and is started again",
    "a_fleet": "a fleet",
    "that_of": "the fleet of {root}",
    "give_free": "`recalld fleet drain {name} --root {root}` gives it free",
    "other_port": "name another with `--port`, or 0 for one that is free",
    "remote": "other machines could reach it; give --allow-remote if they may",
    "none_runs": "no fleet runs in {root}; `recalld fleet --root {root}` starts one.",
    "name_root": "no folder is named; give `--root DIR`, or set RECALLD_FLEET_ROOT",
    "no_root": "{root} is no folder; make it first",
    "is_workspace": "{root} is a workspace itself; give the folder above it",
    "is_workspace_as_well": "the root {root} is a workspace as well, because of {files}; move that away: the fleet looks after the folders below the root alone.",
    "is_root": "{root} is the root of a fleet; make a workspace below it, such as `recalld init -w {below}`",
    "no_workspace": "{name} is no workspace in {root}; `recalld init -w {root}/{name}` makes one",
    "shard_row": "shard {shard}: process {pid}, {workspaces} workspaces, {held} held, {open} open, {running} at work, {memory} MB, {restarts} restarts",
    "shard_away": "shard {shard}: it does not answer, {restarts} restarts",
    "refused_row": "{name}: {why}",
    "sick_row": "{name}: process {pid}",
    "name_row": "{name}",
    "drained_now": "given free: {names}; `recalld fleet adopt` has the fleet take it again.",
    "adopted_later": "the fleet's again, once one runs: {names}.",
    "adopted_now": "the fleet looks after: {names}.",
}
