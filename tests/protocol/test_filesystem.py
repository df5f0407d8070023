"""A workspace stands on a disk of this machine, and nothing of it leads outside."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from supervisor.protocol.clock import utc_now
from supervisor.protocol.errors import BadConfig
from supervisor.protocol.paths import NETWORK, Layout, check_ground, file_system
from supervisor.workspace import open_workspace

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
        ("/", "ext4"),
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
def test_the_file_system_is_that_of_the_nearest_mount_the_later_one_in_front(path, kind):
    assert file_system(path, MOUNTS) == kind


def test_where_nothing_is_known_of_mounts_nothing_is_refused():
    assert file_system("/home", "") == ""


@pytest.mark.parametrize("kind", [*sorted(NETWORK), "fuse.rclone"])
def test_a_network_file_system_is_refused_in_one_sentence_unless_it_is_allowed(tmp_path, monkeypatch, kind):
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"22 1 254:0 / / rw - ext4 /dev/vda rw\n30 22 0:26 / {os.path.realpath(tmp_path)} rw - {kind} x rw\n")
    monkeypatch.setattr("supervisor.protocol.paths._MOUNTS", str(mounts))
    with pytest.raises(BadConfig, match=rf"care.allow_network_fs: .* lies on {kind}, where locks may not hold"):
        open_workspace(tmp_path, {}, utc_now)
    assert BadConfig.exit_code == 78
    open_workspace(tmp_path, {"RECALLD_CARE_ALLOW_NETWORK_FS": "true"}, utc_now)


def test_the_disk_that_the_tests_run_on_is_seen_as_what_the_kernel_says(tmp_path):
    check_ground(Layout(tmp_path), allow_network_fs=False)
    assert file_system(os.path.realpath("/proc/self"), Path("/proc/self/mountinfo").read_text()) == "proc"


@pytest.mark.parametrize(
    "name",
    [
        "memory",
        "memory/summary",
        "memory/originals",
        "memory/originals/2026-01",
        "turns",
        "worker",
        "worker/queue",
        ".recalld",
        "inbox.d",
    ],
)
def test_a_folder_that_leads_outside_the_workspace_is_refused_and_nothing_is_made_there(tmp_path, name):
    root, outside = tmp_path / "工作区", tmp_path / "别处"
    outside.mkdir()
    (root / name).parent.mkdir(parents=True)
    (root / name).symlink_to(outside)
    with pytest.raises(BadConfig, match="outside the workspace"):
        open_workspace(root, {}, utc_now)
    assert list(outside.iterdir()) == []


def test_a_workspace_that_is_itself_a_link_and_folders_that_lead_inside_are_fine(tmp_path):
    root = tmp_path / "真的"
    (root / "notes").mkdir(parents=True)
    (root / "memory").symlink_to(root / "notes")
    (tmp_path / "链接").symlink_to(root)
    open_workspace(tmp_path / "链接", {}, utc_now)
