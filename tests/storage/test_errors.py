"""The error classes: each has its exit code."""

from recalld.supervisor.storage.errors import SupervisorError

#: By exit code (docs/reference/protocol.md, 8).
ERRORS = {
    1: {"InternalError"},
    64: {"BadRequest", "NoUnit", "NotFound", "StaleLine", "StaleText"},
    65: {"BadBackup", "BadFile", "ForeignUnit"},
    69: {"NoService", "NoSummary"},
    71: {"NoProcess"},
    74: {"NoWorkspace", "StorageError", "Unchangeable"},
    75: {"AlreadyRuns", "Busy", "Conflict", "LockLost"},
    77: {"NoPermission"},
    78: {"BadConfig", "NewerFormat"},
}


def test_each_error_has_the_exit_code_of_this_table() -> None:
    codes = {error.__name__: error.exit_code for error in SupervisorError.__subclasses__()}
    assert codes == {name: code for code, names in ERRORS.items() for name in names}
