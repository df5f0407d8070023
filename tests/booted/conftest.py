"""The booted machine, and a new user of it."""

import pytest

from tests.booted.machine import PID, Machine, Person


@pytest.fixture(scope="module")
def machine() -> Machine:
    return Machine(PID)


@pytest.fixture
def me(machine: Machine) -> Person:
    return machine.person()
