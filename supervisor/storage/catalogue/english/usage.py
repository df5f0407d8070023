"""What is wrong with the words of a command."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "interrupted": "interrupted.",
    "fault": "{fault}. See `{command} --help`.",
    "question": "{fault}? See `{command} --help`.",
    "hook_by_hand": "a client runs this command, with an event on standard input",
    "no_command": "No such command {name}",
    "no_option": "No such option: {name}",
    "missing_argument": "Missing argument {name}",
    "missing_option": "Missing option {name}",
    "missing_command": "Missing command",
    "needs_value": "Option {name} requires an argument",
    "takes_no_value": "Option {name} does not take a value",
    "bad_value": "Invalid value for {name}: {why}",
    "no_command_near": "No such command {name}. Did you mean {near}",
    "no_option_near": "No such option: {name} Did you mean {near}",
    "too_many": "Got unexpected extra arguments ({name})",
    "words_alone": "Give the words as in `{command}`",
    "too_small": "{value} is not in the range x>={least}",
    "out_of_range": "{value} is not in the range {least}<=x<={most}",
    "no_integer": "{value} is not a valid integer",
    "no_number": "{value} is not a valid float",
    "prefix": "Usage: ",
    "heading_options": "Options",
    "heading_arguments": "Arguments",
    "heading_commands": "Commands",
    "options_metavar": "[OPTIONS]",
    "command_metavar": "COMMAND [ARGS]...",
    "show_help": "Show this message and exit.",
    "default": "default: {value}",
    "required": "required",
}
