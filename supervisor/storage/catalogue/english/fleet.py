"""Texts of `recalld fleet`, and of what takes its place."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "a_fleet": "a fleet",
    "name_root": "no folder is named; give `--root DIR`, or set RECALLD_FLEET_ROOT",
    "no_root": "{root} is no folder; make it first",
    "is_workspace": "{root} is a workspace itself; give the folder above it",
    "is_root": "{root} is the root of a fleet; make a workspace below it, such as `recalld init -w {below}`",
    "leaves": "each workspace in {root} runs in a process of its own now, and `recalld fleet` leaves in the next version; `recalld service install` puts a service for each workspace, recalld@NAME.service, in the place of the unit of a fleet (docs/how-to/many-workspaces.md).",
    "no_longer_read": "{file} is no longer read; you may delete it.",
    "ended": "{name}: its process has ended with exit code {code}; it is started again in {seconds} s.",
    "not_started": "{name}: the system starts no process for it: {why}; it is tried again in ten minutes.",
    "none_here": "there is no workspace in {root} now; mount its disk first, or remove the unit with `recalld service remove fleet`",
    "turned": "each workspace in {root} has a service of its own, recalld@NAME.service ({count}); {unit} is gone.",
    "not_turned": "{unit} goes on with these workspaces, which got no service: {names}",
    "give_again": "mend what is said above, and give the command again",
}
