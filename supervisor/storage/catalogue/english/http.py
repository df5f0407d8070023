"""What the HTTP service refuses, and why it is not there."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "failed": "this failed; the event `error` in log.jsonl says where.",
    "token": "this needs the token of the workspace: run `recalld open`, or send the header Authorization: Bearer TOKEN.",
    "host": "the Host of this request is no address of this service; use the one that `recalld open` prints.",
    "origin": "this request comes from a page of another site, which may not ask for anything here.",
    "form_token": "this form is no longer valid; load the page again, and send it once more.",
    "many": "too many requests are being answered; try again soon.",
    "no_http": "this is no valid HTTP request.",
    "no_path": "there is nothing at this address; `/openapi.json` has the addresses for programs, `/` is the page.",
    "no_method": "this address does not take that method; the header Allow names those that it takes.",
    "no_json_body": "the body must have the type application/json.",
    "no_json": "this is no JSON.",
    "no_form": "this is no form.",
    "field_twice": "this field is there twice; give it once.",
    "unwritable": "a text must not have the character NUL or half an emoji; leave it out.",
    "head_too_large": "the headers are too large; the most are {bytes} bytes.",
    "too_large": "the body is too large; the most are {bytes} bytes.",
    "off": "`serve.port` is 0",
    "switch_on": "set `port = 8377` below `[serve]` in recalld.toml",
    "no_supervisor": "no supervisor runs in this workspace",
    "start_supervisor": "start it with `recalld run`, or `recalld service install`",
    "no_token": "the supervisor has no HTTP service yet",
    "look_at_status": "`recalld status` says why",
    "port_taken": "There is no HTTP service: another program uses port {port}. End that program, or set another `port` in `[serve]` of recalld.toml.",
    "port_forbidden": "There is no HTTP service: this user may not use port {port}. Set a `port` above 1023 in `[serve]` of recalld.toml.",
    "port_address": "There is no HTTP service: {host} is no address of this machine. Set `host` in `[serve]` of recalld.toml to one that is, such as 127.0.0.1.",
    "port_remote": 'There is no HTTP service: other machines can reach {host}. Set `host = "127.0.0.1"` in `[serve]` of recalld.toml, or `allow_remote = true` if they may.',
}
