"""The error classes: each has its code and one sentence."""

from __future__ import annotations

import contextlib
import copy
import errno
import os
import pickle
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from recalld.supervisor.storage import errors as e
from recalld.supervisor.storage.os_errors import from_os_error

if TYPE_CHECKING:
    from collections.abc import Iterator

ONE_OF_EACH = {
    e.BadConfig("recall.max_hits", "'五' is not allowed"): 78,
    e.BadRequest("start", "it is after the end"): 64,
    e.NotFound("memory/2026-01-28-部署.md"): 64,
    e.StaleLine("9@00000000", "9@b13699f5", "2026-01-31|web-chat|用户搬到了上海"): 64,
    e.StaleText("memory.md", "9f86d081884c7d65", "2026-01-31|web-chat|用户搬到了上海"): 64,
    e.Unchangeable("memory.md", "it is not UTF-8", "save it as UTF-8"): 74,
    e.BadFile("history.json", "it stops after 12 bytes"): 65,
    e.BadBackup("/srv/memory.tar", "memory/2026-01-28-部署.md in it is not what was put in"): 65,
    e.Busy("history.json.lock", timedelta(seconds=5)): 75,
    e.Conflict("history.json"): 75,
    e.NewerFormat("memory/2026-01-28-deploy.md", 9): 78,
    e.StorageError("history.json", "No space left on device"): 74,
    e.NoPermission("history.json", "Permission denied"): 77,
    e.NoProcess("Resource temporarily unavailable"): 71,
    e.AlreadyRuns("/srv/memory"): 75,
    e.AlreadyRuns("/srv/memories", "a fleet"): 75,
    e.LockLost("/srv/memory"): 75,
    e.NoWorkspace("/srv/memory"): 74,
    e.NoService("systemd does not run here", "keep `recalld run` going another way"): 69,
    e.ServiceForbidden("units of the system are root's", "give it with sudo"): 77,
    e.NoSummary("the model did not answer within 600 s", "timeout"): 69,
    e.NoUnit("/home/me/.config/systemd/user/recalld.service"): 64,
    e.ForeignUnit("/home/me/.config/systemd/user/recalld.service"): 65,
    e.InternalError("roll-up", "KeyError", "submit.py:42"): 1,
}


def test_supervisor_error_cannot_be_raised_itself() -> None:
    with pytest.raises(TypeError):
        raise e.SupervisorError


def test_error_table_lists_every_subclass_of_supervisor_error() -> None:
    assert {type(error) for error in ONE_OF_EACH} == set(e.SupervisorError.__subclasses__())


@pytest.mark.parametrize(("error", "code"), ONE_OF_EACH.items(), ids=lambda v: type(v).__name__)
def test_errors_have_an_exit_code_and_one_sentence_and_survive_pickling(error: e.SupervisorError, code: int) -> None:
    assert error.exit_code == code
    said = str(error)
    assert said.endswith(".")
    assert "\n" not in said
    assert str(error.args[0]) in said


@pytest.mark.parametrize("error", ONE_OF_EACH, ids=lambda v: type(v).__name__)
def test_error_is_copied_with_its_fields_however_it_was_made(error: e.SupervisorError) -> None:
    named = type(error)(**vars(error))
    assert named.args == error.args == tuple(vars(error).values())
    for copied in (pickle.loads(pickle.dumps(named)), copy.copy(named)):  # noqa: S301
        assert (type(copied), vars(copied), str(copied)) == (type(error), vars(error), str(error))
    assert named != error


def test_error_fills_in_no_field_that_stands_in_the_text_of_another() -> None:
    assert str(e.BadRequest("{self.why}", "{0} and {")) == "{self.why}: {0} and {."


def test_error_passes_through_a_context_manager() -> None:
    @contextlib.contextmanager
    def busy() -> Iterator[None]:
        yield

    with pytest.raises(e.Conflict), busy():
        raise e.Conflict("history.json")


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.EROFS])
def test_from_os_error_maps_missing_rights_to_no_permission(number: int) -> None:
    found = from_os_error(OSError(number, os.strerror(number)), "history.json")
    assert type(found) is e.NoPermission
    assert os.strerror(number) in str(found)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.ENOENT, None])
def test_from_os_error_maps_other_errors_to_storage_error(number: int | None) -> None:
    found = from_os_error(OSError(number, "坏了") if number else OSError(), "history.json")
    assert type(found) is e.StorageError
    assert found.why
