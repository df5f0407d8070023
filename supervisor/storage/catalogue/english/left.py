"""Texts of what earlier versions had: what does its work now."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "gateway": "there is no gateway any more: each workspace answers over HTTP at the `[serve] port` of its own recalld.toml, and a web server in front of them can pass /w/NAME/ on to that port.",
    "fleet_status": "a fleet has no status of its own any more: `recalld -w DIR status` shows how a workspace is, `systemctl status 'recalld*'` how the services are.",
    "fleet_drain": "nothing is drained or adopted any more: `systemctl stop recalld@NAME` ends the service of a workspace, and `recalld fleet` leaves one alone while there is a file of its name in .fleet/drained.",
    "service_fleet": "a fleet gets no unit any more: `recalld -w DIR/NAME service install --name NAME` makes a service for each workspace.",
}
