"""Which folders below the root of a fleet are workspaces, and why another is not looked after."""

from __future__ import annotations

import os

import pytest

from recalld.supervisor.fleet.listing import Listing
from recalld.supervisor.protocol.making import make_workspace


def test_listing_has_the_workspaces_directly_below_the_root(tmp_path):
    for name in ("安娜", "team 3"):
        make_workspace(tmp_path / name, {})
    make_workspace(tmp_path / ".hidden", {})
    (tmp_path / "empty").mkdir()
    (tmp_path / "fleet.toml").write_text("")
    found = Listing(tmp_path).look()
    assert sorted(found.names.values()) == ["team 3", "安娜"]
    assert found.refused == {}
    stat = os.stat(tmp_path / "安娜")
    assert found.names[stat.st_dev, stat.st_ino] == "安娜"


def test_listing_refuses_a_link_and_goes_on(tmp_path):
    make_workspace(tmp_path / "anna", {})
    (tmp_path / "link").symlink_to("anna")
    (tmp_path / "dangling").symlink_to("nowhere")
    found = Listing(tmp_path).look()
    assert list(found.names.values()) == ["anna"]
    assert {name: str(why) for name, why in found.refused.items()} == {
        "link": "it is a link; put the folder itself below the root"
    }


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_listing_refuses_a_folder_that_cannot_be_read(tmp_path):
    make_workspace(tmp_path / "anna", {})
    (tmp_path / "anna").chmod(0)
    try:
        assert "can't be read" in str(Listing(tmp_path).look().refused["anna"])
    finally:
        (tmp_path / "anna").chmod(0o700)


def test_listing_finds_what_has_become_a_workspace(tmp_path):
    listing = Listing(tmp_path)
    (tmp_path / "anna").mkdir()
    assert listing.look().names == {}
    assert not listing.has_grown()
    make_workspace(tmp_path / "anna", {})
    assert listing.has_grown()
    assert list(listing.look().names.values()) == ["anna"]
