"""A workspace is on a disk of this machine, and no folder of it leads outside."""

from __future__ import annotations

import os

import pytest

from recalld.supervisor.protocol.paths import NETWORK, filesystem_kind
from recalld.supervisor.storage.clock import utc_now
from recalld.supervisor.storage.errors import BadConfig
from recalld.supervisor.workspace import open_workspace

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
