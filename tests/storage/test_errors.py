"""The error classes: each has its code and one sentence."""

from __future__ import annotations

from datetime import timedelta

import pytest

from recalld.supervisor.storage import errors as e

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
