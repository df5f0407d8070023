"""Texts of what earlier versions had: what does its work now."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "demo": "there is no demo among the commands any more: `script/demo` in a clone of the repository shows recalld at work on a sample conversation.",
    "chat": 'there is no chat any more: any program asks by inbox.json and finds the answer in history.json where `[turns] reply = "worker"` is set, `recalld connect` gives this memory to an assistant, and `recalld inject --query TEXT` shows what it holds.',
    "redact": 'there is no `redact` any more: `recalld forget --match TEXT` takes back a secret that is stored, and `[privacy] redact = "store"` in recalld.toml stores a mark in the place of the next one.',
    "metrics": "there are no figures for Prometheus any more: `recalld status --json` has them, and ends with 65 when something is wrong.",
    "gateway": "there is no gateway any more: each workspace answers over HTTP at the `[serve] port` of its own recalld.toml, and a web server in front of them can pass /w/NAME/ on to that port.",
    "fleet_status": "a fleet has no status of its own any more: `recalld -w DIR status` shows how a workspace is, `systemctl status 'recalld*'` how the services are.",
    "fleet_drain": "nothing is drained or adopted any more: `systemctl stop recalld@NAME` ends the service of a workspace, and `recalld fleet` leaves one alone while there is a file of its name in .fleet/drained.",
    "service_fleet": "a fleet gets no unit any more: `recalld -w DIR/NAME service install --name NAME` makes a service for each workspace.",
    "linger": "recalld no longer changes how a login ends: give `loginctl enable-linger` to let your services go on while you are not logged in, and `service install` without this option.",
    "force": "`service install` no longer moves a unit away: move it with `mv`, or remove that of a workspace that has moved with `recalld service uninstall`, and give the command without `--force`.",
}
