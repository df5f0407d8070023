"""
The service on a machine that was really booted: script/test-systemd makes it and starts it, in a container.

Each test has a user of its own. What the machine's clock decides is waited for and never measured.
"""

import json
import re

import pytest

from tests.booted.machine import ALARM, WORDS, Unit, booted
from tests.process.command import Ended, until

pytestmark = booted("script/test-systemd")
#: The watchdog of the units is patient; a test is not. A round comes every 30 seconds.
IMPATIENT = "[Service]\nWatchdogSec=45\nRestartSec=1\n"


def impatient(unit: Unit) -> None:
    """Let the unit wait less than it would."""
    unit.drop_in(IMPATIENT)
    assert unit.systemctl("restart").code == 0


# ── installed ────────────────────────────────────────────────────────────────


def test_service_is_ready_and_says_how_things_are(me):
    unit = me.installed()
    for n in range(3):
        me.ok("append", "--role", "user", "--text", f"{WORDS} 第 {n} 条")
    until(lambda: unit.show("StatusText") == "running")
    found = me.json("service", "status")
    assert (found["state"], found["workspace"], found["down"], found["nightlyFsck"]) == ("active", me.root, "", "active")
    assert me.recalld("search", "花生").out.count(WORDS) == 3
    assert "started" in me.run("journalctl", "--user-unit=recalld.service", "--output=cat").out.split()


def test_second_supervisor_ends_and_is_tried_until_the_first_one_has(me, machine):
    unit = me.installed()
    assert machine.run("recalld", "-w", me.root, "service", "install", "--system", me.name).code == 75
    assert unit.systemctl("stop").code == 0
    machine.do("recalld", "-w", me.root, "service", "install", "--system", me.name)
    unit.systemctl("start")
    until(lambda: int(unit.show("NRestarts")) >= 1 and unit.show("ExecMainStatus") == "75")
    assert "a supervisor already runs" in me.recalld("service", "status").err
    machine.do("recalld", "service", "uninstall", "--system", me.name)


# ── stopped, hanging, killed ─────────────────────────────────────────────────


def test_hang_is_ended_by_the_watchdog(me):
    unit = me.installed()
    impatient(unit)
    me.say(3)
    assert unit.systemctl("kill", "--signal=STOP").code == 0
    unit.restarted(1, most_s=180)
    assert "Watchdog timeout" in me.run("journalctl", "--user-unit=recalld.service", "--no-pager").out
    assert me.recalld("search", "花生").out.count(WORDS) == 3


def test_killed_service_starts_again_and_after_the_limit_it_is_told(me):
    unit = me.installed()
    impatient(unit)
    me.write(f"{me.root}/recalld.toml", ALARM)
    for times in range(1, 4):
        assert unit.systemctl("kill", "--signal=KILL").code == 0
        unit.restarted(times, most_s=60)
    until(lambda: unit.systemctl("kill", "--signal=KILL") and unit.show("ActiveState") == "failed")
    done = me.recalld("service", "status")
    assert (done.code, "does not run" in done.err) == (65, True)
    until(lambda: "recalld.service does not run: it failed, which systemd calls signal KILL" in me.run("cat", "heard").out)


def test_wrong_configuration_stays_down_with_its_reason(me):
    unit = me.installed()
    me.write(f"{me.root}/recalld.toml", "[recall]\nmeaning = 'x'\n")
    assert unit.systemctl("restart").code != 0
    assert (unit.show("ActiveState"), unit.show("NRestarts"), unit.show("ExecMainStatus")) == ("failed", "0", "78")
    assert "recall.meaning" in me.recalld("service", "status").err


# ── the key ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("scope", ["user", "system"])
def test_key_is_a_credential_and_nowhere_else(me, machine, scope):
    key = f"sk-{me.name}-secret"
    path = f"/home/{me.name}/der Schlüssel 100%" if scope == "user" else f"/root/{me.name}.key"
    machine.do("sh", "-c", f"umask 077; cat > '{path}'; chown {me.name if scope == 'user' else 'root'} '{path}'", stdin=key)
    if scope == "user":
        unit = me.installed("--key-file", path)
    else:
        me.ok("init")
        machine.do("recalld", "-w", me.root, "service", "install", "--system", me.name, "--key-file", path)
        unit = Unit(f"recalld@{me.name}.service", machine)
    pid = unit.show("MainPID")
    environ = dict(one.partition("=")[::2] for one in machine.do("cat", f"/proc/{pid}/environ").split("\0"))
    assert key not in "".join(environ.values())
    credential = f"{environ['CREDENTIALS_DIRECTORY']}/recalld-api-key"
    assert machine.do("nsenter", f"--target={pid}", "--mount", "cat", credential) == key
    which = [] if scope == "user" else ["--system", me.name]

    def recalld(*words: str) -> Ended:
        return me.recalld(*words) if scope == "user" else machine.run("recalld", "-w", me.root, *words)

    machine.do("rm", path)
    restarted = recalld("service", "restart", *which)
    assert (restarted.code, "can't be read" in restarted.err, unit.show("MainPID")) == (
        78,
        True,
        pid,
    )  # before anything is stopped
    assert unit.systemctl("restart").code != 0
    done = recalld("service", "status", *which)
    assert (done.code, "exit-code 243" in done.err) == (65, True)
    assert unit.show("NRestarts") == "0"


# ── of the system ────────────────────────────────────────────────────────────


def test_unit_of_the_system_runs_as_the_user_and_may_write_little(me, machine):
    me.ok("init")
    machine.do("recalld", "-w", me.root, "service", "install", "--system", me.name)
    unit = Unit(f"recalld@{me.name}.service", machine)
    pid = unit.show("MainPID")
    assert machine.do("ps", "-o", "user=", "-p", pid).strip() == me.name
    for path, may in ((me.root, 0), (f"/home/{me.name}", 1), ("/etc", 1), (f"/var/cache/recalld/{me.name}", 0)):
        inside = [
            "nsenter",
            f"--target={pid}",
            "--mount",
            "setpriv",
            f"--reuid={me.name}",
            "--clear-groups",
            "touch",
            f"{path}/x",
        ]
        assert machine.run(*inside).code == may, path
    assert machine.run("systemd-analyze", "security", "--threshold=25", unit.name).code == 0
    me.say(150, days=3)
    until(lambda: me.json("status")["unwritten"] == 0)
    machine.do("systemctl", "start", f"recalld-fsck@{me.name}.service")
    until(lambda: me.json("status")["lastFsck"] is not None)
    machine.do("recalld", "service", "uninstall", "--system", me.name)


def test_unit_of_the_system_refuses_the_workspace_of_another_user(me, machine):
    other = machine.person()
    me.ok("init")
    done = machine.run("recalld", "-w", me.root, "service", "install", "--system", other.name)
    assert (done.code, f"does not belong to {other.name}" in done.err) == (77, True)
    assert me.recalld("service", "install", "--system", me.name).code == 77


# ── the nights ───────────────────────────────────────────────────────────────


def test_nightly_check_tells_once_what_is_lost(me):
    me.installed()
    fsck, timer = me.unit("recalld-fsck.service"), me.unit("recalld-fsck.timer")
    assert timer.show("ActiveState") == "active"
    assert timer.show("NextElapseUSecRealtime") != ""
    assert fsck.systemctl("start").code == 0
    me.write(f"{me.root}/recalld.toml", ALARM)
    me.say(150, days=3)
    until(lambda: me.json("status")["unwritten"] == 0)
    me.run("sh", "-c", f"rm '{me.root}'/memory/2026-01-02-*.md; echo '[]' > '{me.root}/history.json'")
    for _ in range(2):
        assert fsck.systemctl("start").code != 0
    assert me.run("cat", "heard").out.count("messages are lost (50)") == 1
    assert "messages are lost (50)" in me.recalld("status").out.splitlines()[0]
    assert "the nightly check or backup failed" in me.recalld("service", "status").err
    errors = me.run("journalctl", "--user-unit=recalld-fsck.service", "--identifier=recalld", "--priority=err", "--no-pager")
    assert errors.out.count("messages are lost (50)") == 2


def test_nightly_backup_is_kept_though_there_are_to_be_no_more(me):
    me.run("mkdir", "backups")
    folder = f"/home/{me.name}/backups"
    me.installed("--backup-to", folder, "--keep", "2")
    backup, timer = me.unit("recalld-backup.service"), me.unit("recalld-backup.timer")
    assert (timer.show("ActiveState"), me.json("service", "status")["nightlyBackup"]) == ("active", "active")
    me.say(3)
    assert backup.systemctl("start").code == 0
    (name,) = me.run("ls", folder).out.splitlines()
    assert name.startswith("我的 100% memory-nightly-")
    assert json.loads(me.ok("backup", "verify", f"{folder}/{name}", "--json"))["fsck"]["seen"] == 3
    me.ok("service", "install", "--no-backup")
    assert me.run("systemctl", "--user", "list-unit-files", "recalld-backup*", "--no-legend").out == ""
    assert (me.run("ls", folder).out.splitlines(), me.json("status")["lastBackup"]["file"]) == ([name], f"{folder}/{name}")


def test_update_over_a_running_service_is_told_until_it_is_started_again(me, machine):
    """All that comes after it has the later version."""
    unit = me.installed()
    until(lambda: me.wrong() == {})
    machine.do("cp", "-r", "/clone", "/tmp/newer")
    machine.do("sed", "-i", 's/^version = .*/version = "99.0"/', "/tmp/newer/pyproject.toml")
    pip = ["/opt/recalld/bin/pip", "install", "-qq", "--root-user-action=ignore", "--disable-pip-version-check"]
    machine.do(*pip, "--no-index", "--find-links=/wheels", "--no-deps", "/tmp/newer")
    assert me.wrong() == {"supervisor": "recalld service restart"}
    before = unit.show("MainPID")
    me.ok("service", "restart")
    assert unit.show("MainPID") not in (before, "0")
    assert me.wrong() == {}


def test_journal_has_no_traceback_and_no_words_of_anybody(machine):
    """The last one: it reads what all the others have left."""
    said = machine.journal("--identifier=recalld")
    assert "archived" in said
    assert re.findall("Traceback.*", said) == []
    assert WORDS not in said
    assert "secret" not in said
