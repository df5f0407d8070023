"""What is wrong with the argument of a caller."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "not_allowed": "{value} is not allowed, give {allowed}",
    "or_more": "{least} or more",
    "not_text": "it must be text, not {kind}",
    "not_list": "it must be a list of {of}, not {kind}",
    "line_numbers": "line numbers",
    "not_folder_path": "it must be the path of a folder, not {kind}",
    "no_workspace": "{root} is not there; make it with `recalld init -w {same}`",
    "file_for_folder": "{root} is a file, not a folder",
    "not_whole_number": "it must be a whole number, not {kind}",
    "bad_slug": "{slug!r} may hold only a-z, 0-9 and -",
    "texts": "texts",
    "must_be": "it must be {kind}, not {given}",
    "must_be_texts": "it must be {kind}, and each of them text",
    "tool_needs": "{tool} needs it",
    "tool_lacks": "{tool} has no such argument, it has {names}",
    "tool_refuses": "{tool} does not take it: whoever starts recalld sets it, never the model",
    "no_tool": "there is no such tool; there are {names}",
    "no_json_object": "they are no JSON object",
    "not_number": "it must be a number, not {kind}",
    "not_mapping": "it must be a mapping of variables, not {kind}",
    "not_clock": "it must be a function that returns the present, not {kind}",
    "no_chat": "{value!r} is not direct, group or channel",
    "not_messages": "it must be a message, or a list of messages, not {kind}",
    "not_command": "it must be an object with command and path, not {kind}",
    "not_message": "it must be an object with role and text, not {kind}",
    "owner_alone": "it is the owner's alone, and it was asked for in a group",
    "no_operation": "there is no operation {name!r}; give one of {names}",
    "text": "text",
    "whole_number": "a whole number",
    "number": "a number",
    "texts_list": "a list of texts",
    "object": "an object",
    "list": "a list",
    "truth": "true or false",
    "ids": "ids",
}
