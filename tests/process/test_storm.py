"""A share of the SIGKILL storm for every run of the tests; the whole of it: python -m tests.process.storm."""

import subprocess

import pytest

from tests.process.storm import Storm


@pytest.mark.process
@pytest.mark.timeout(120)
def test_killing_supervisor_worker_and_writer_at_random_moments_loses_and_doubles_nothing(tmp_path):
    storm = Storm(tmp_path / "workspace", seed=7)
    subprocess.run(storm.command("init"), env=storm.environ, check=True, stdout=subprocess.DEVNULL)

    wrong = storm.run(kills=8)

    assert storm.acked
    assert wrong == []
