"""The paths of a workspace, the names of its files, the summary period of a day, and where a workspace may be."""

import os
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.protocol.paths import (
    NETWORK,
    Period,
    day_of_name,
    filesystem_kind,
    is_foreign,
    summary_period,
)
from recalld.supervisor.storage.clock import utc_now
from recalld.supervisor.storage.errors import BadConfig
from recalld.supervisor.workspace import open_workspace

JAN_28 = date(2026, 1, 28)


@pytest.mark.parametrize(
    ("name", "day"),
    [
        ("2026-01-28-随手记.md", JAN_28),
        ("2026-01-28-\udcff.md", JAN_28),
        ("2026-01-28-\ud800.md", None),  # no file can have it
        ("2026-01-28-旅行 · 1 · 2.md", JAN_28),
        ("2026-01-28-evil\n- 2026-01-28-x.md", None),
        ("2026-01-28.md", JAN_28),
        ("2026-02-30-x.md", None),
        ("2026-01-28-x.txt", None),
        ("2026-01-28-a/b.md", None),
        (".2026-01-28-x.md.123-4.tmp", None),
        ("2026-01-28-x (conflicted copy).md", None),
        ("2026-01-28-x.sync-conflict-20260128-1.md", None),
    ],
)
def test_day_of_name_returns_the_day_of_a_dated_file_only(name, day):
    """Swap files, conflict copies and notes."""
    assert day_of_name(name) == day


@pytest.mark.parametrize(
    "name",
    [
        *(".x.swp", "x.md.swp", "x.SWX", "4913", "#x#", "x~", ".git", "x.tmp", ".DS_Store", "x (Conflicted Copy).md"),
        *("2026-01-28-x (小明 的冲突副本 2026-01-29).md", "想法 (王 的衝突複本).md", "x (Case Conflict 1).md"),
        *("2026-01-28-a\n- 2026-01-28-b.md", "a\x1b[2J.md", "a\u2028b.md"),
    ],
)
def test_is_foreign_recognizes_files_of_editors_and_sync_tools(name):
    assert is_foreign(name)


# ── the summary period of a day: recent, by day or by month ──────────────────────

JAN_31, FEB_1 = date(2026, 1, 31), date(2026, 2, 1)
DAYS = st.dates(date(2000, 1, 1), date(2100, 12, 31))

#: today, the day of the message, the label of its summary (None: the dated file is its home).
TABLE = [
    (JAN_31, "2026-01-26", None),  # five days ago
    (JAN_31, "2026-01-25", "2026-01-25"),  # six
    (JAN_31, "2025-12-01", "2025-12-01"),
    (JAN_31, "2025-11-30", "2025-11"),
    (JAN_31, "2026-02-03", None),  # tomorrow's words are no old ones
    (FEB_1, "2026-01-26", "2026-01-26"),
    (date(2026, 1, 1), "2025-12-27", None),  # last month, yet recent
    (date(2024, 2, 29), "2024-02-24", None),
]


@pytest.mark.parametrize(("today", "day", "label"), TABLE)
def test_summary_period_is_none_then_day_then_month_as_a_day_ages(today, day, label):
    assert summary_period(date.fromisoformat(day), today) == (Period(label) if label else None)


@given(DAYS, DAYS, st.integers(0, 400))
def test_summary_period_never_gets_finer_as_time_passes(day, today, later):
    rank = {None: 0, "day": 1, "month": 2}
    then, now = summary_period(day, today), summary_period(day, today + timedelta(days=later))
    assert rank[then and then.kind] <= rank[now and now.kind]


@given(DAYS, DAYS, st.integers(0, 60))
def test_summary_period_contains_its_day_and_is_none_while_recent(day, today, recent):
    found = summary_period(day, today, recent)
    assert (found is None) == ((today - day).days <= recent)
    assert found is None or found.holds(day)


# ── a disk of this machine, and no folder that leads outside ─────────────────────

MOUNTS = r"""22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:26 / /home rw - btrfs /dev/sda2 rw
31 30 0:27 / /home/李雷/云盘 rw,nosuid - nfs4 server:/export rw,vers=4.2
32 30 0:28 / /home/with\040blank rw - cifs //server/share rw
33 30 0:29 / /home/ssh rw - fuse.sshfs user@host:/ rw
34 30 0:30 / /home/over rw - nfs4 server:/a rw
35 30 0:31 / /home/over rw - xfs /dev/sdb rw
36 22 0:32 / /mnt/c rw master:1 propagate_from:2 - 9p C:\134 rw
half a line
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/srv/助手", "ext4"),
        ("/home/li/workspace", "btrfs"),
        ("/home/李雷/云盘", "nfs4"),
        ("/home/李雷/云盘/助手/memory", "nfs4"),
        ("/home/李雷/云盘二", "btrfs"),
        ("/home/with blank/x", "cifs"),
        ("/home/ssh/x", "fuse.sshfs"),
        ("/home/over/x", "xfs"),
        ("/mnt/c/Users", "9p"),
    ],
)
def test_filesystem_kind_returns_the_type_of_the_nearest_latest_mount(path, kind):
    assert filesystem_kind(path, MOUNTS) == kind


@pytest.mark.parametrize("kind", [*sorted(NETWORK), "fuse.rclone"])
def test_check_filesystem_refuses_network_file_systems_unless_allowed(tmp_path, monkeypatch, kind):
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"22 1 254:0 / / rw - ext4 /dev/vda rw\n30 22 0:26 / {os.path.realpath(tmp_path)} rw - {kind} x rw\n")
    monkeypatch.setattr("recalld.supervisor.protocol.paths._MOUNTS", str(mounts))
    with pytest.raises(BadConfig, match=rf"care.allow_network_fs: .* is on {kind}, where locks may not work"):
        open_workspace(tmp_path, {}, utc_now)
    assert BadConfig.exit_code == 78
    open_workspace(tmp_path, {"RECALLD_CARE_ALLOW_NETWORK_FS": "true"}, utc_now)


@pytest.mark.parametrize("name", [
    "memory", "memory/summary", "memory/originals", "memory/originals/2026-01", "turns", "worker", "worker/queue", ".recalld", "inbox.d",
])  # fmt: skip
def test_check_inside_refuses_a_folder_linked_outside_the_workspace(tmp_path, name):
    root, outside = tmp_path / "工作区", tmp_path / "别处"
    outside.mkdir()
    (root / name).parent.mkdir(parents=True)
    (root / name).symlink_to(outside)
    with pytest.raises(BadConfig, match="outside the workspace"):
        open_workspace(root, {}, utc_now)
    assert list(outside.iterdir()) == []
