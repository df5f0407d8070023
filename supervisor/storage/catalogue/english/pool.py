"""The pool of workers: why it can't be used, and why a task of it comes back."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "no_key": "the variable {name} has no key; `recalld pool key` prints a new one, which hosts and workers of the pool need",
    "bad_key": "the variable {name} has no key of 32 bytes in base64; `recalld pool key` prints one",
    "short": "the task needs more calls than were reserved for it",
    "busy": "the model of the pool takes nothing now",
    "spent": "the day's budget of the pool is spent",
    "ended_twice": "its worker ended twice",
    "not_installed": "a pool needs recalld[pool], which is not installed: `pip install 'recalld[pool]'`",
    "no_file": "{path} is not there; it names the models of the pool, a section [providers.NAME] each, as docs/how-to/a-pool-of-workers.md shows",
    "no_providers": "it names no model: give a section [providers.default] with base_url and model",
    "bad_address": "the address of the pool is no redis:// or rediss:// one",
    "unreachable": "Redis at {server} can't be reached ({kind}); start it, or mend pool.url",
    "wrong_password": "Redis at {server} refuses the user or the password; mend them in RECALLD_POOL_URL",
    "no_rights": "the user of Redis at {server} may not do what a pool needs; docs/how-to/a-pool-of-workers.md has its rights",
    "full": "Redis at {server} has no memory left; give it more with maxmemory",
    "tls_fails": "TLS with {server} fails: a rediss:// address needs a server with TLS and a certificate that this machine trusts",
    "too_old": "it is Redis {version}, and a pool needs 6.2 or newer, or Valkey",
    "evicts": "its maxmemory-policy is {policy}, which drops tasks; set it to noeviction",
    "no_tls": "{server} is another machine and the address has no TLS; use rediss://",
    "foreign": "{key} behind the prefix {prefix} is not of a pool; give another pool.prefix",
    "mend": "`recalld doctor --broker` checks it",
    "nobody": "no supervisor brings tasks to the pool, or the pool takes none; `recalld pool status` shows it",
    "refused_key": "a task is sealed with another key; hosts and workers of a pool need the same in RECALLD_POOL_KEY",
    "refused_newer": "a task is of a newer recalld; update this worker",
    "refused_changed": "a task was changed or cut on its way; it is not done",
    "refused_profile": "a task wants a profile that pool.toml does not have; see pool.profile",
    "good": "{server}: Redis {version}, noeviction, {slots} threads of workers",
    "echo_good": "a sealed task came back from a worker in {ms} ms",
    "echo_none": "no worker answered within {seconds} s; start one with `recalld worker --broker`",
    "echo_refused": "a worker could not open a task: {why}",
    "no_url": "no pool is configured; set pool.url, or give --broker",
    "flushed": "{count} keys deleted; what was out is offered again",
    "paused": "the model of {name} is left alone for {seconds} s",
    "goes_on": "the model of {name} is asked again",
}
