"""
`recalld` as scenes call it: a fork of the process that has all of it loaded (tests/process/prepared.py), with the arguments, the
variables, the folder and the files of here; where one of these is closed, the installed command itself.

It imports what needs no loading alone: a scene calls it a hundred times.
"""

import _signal as signal
import _socket as socket
import json
import os
import sys


def is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def main() -> int:
    if not all(map(is_open, (0, 1, 2))):
        os.execv(os.environ["PLAIN"], ["recalld", *sys.argv[1:]])  # noqa: S606 - it was asked for
    umask = os.umask(0)
    os.umask(umask)
    own = {key: value for key, value in os.environ.items() if key not in ("_", "SHLVL", "OLDPWD")}
    asked = {"words": ["recalld", *sys.argv[1:]], "environ": own, "cwd": os.getcwd(), "umask": umask}
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    line.connect(f"\0{os.environ['PREPARED']}")
    rights = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))
    line.sendmsg([b"\n"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
    line.sendall(json.dumps(asked).encode())
    line.shutdown(socket.SHUT_WR)
    child = int(line.recv(16, socket.MSG_WAITALL))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: os.kill(child, number))
    code = os.waitstatus_to_exitcode(int(line.recv(16, socket.MSG_WAITALL)))
    return code if code >= 0 else 128 - code


sys.exit(main())
