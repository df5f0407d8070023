"""
`script/test-http`: has schemathesis ask a running supervisor all that its description allows, and much that it does not.

    python -m tests.http.judge PATH-OF-SCHEMATHESIS [ITS ARGUMENTS]
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import httpx2

from tests.http.test_command import health
from tests.loopback import free_port
from tests.process.command import Command, until
from tests.world import message


def main(schemathesis: str, *arguments: str) -> int:
    """Return the exit code of schemathesis."""
    with tempfile.TemporaryDirectory(prefix="recalld-http-") as folder:
        command = Command(Path(folder) / "workspace", RECALLD_SERVE_PORT=str(free_port()))
        command("init")
        said = [message(f"m{n}", f"2026-01-15T09:{n:02}", "我对花生过敏。", session="web:1") for n in range(20)]
        (command.root / "history.json").write_text(json.dumps(said, ensure_ascii=False), encoding="utf-8")
        (command.root / "memory.md").write_text("2026-02-15|web-chat|用户偏好Python\n", encoding="utf-8")
        with command.supervised() as process:
            until(lambda: health(command), process)
            code = _judged(schemathesis, command, arguments)
            log = (command.root / "log.jsonl").read_text(encoding="utf-8").splitlines()
        bugs = [line for line in log if json.loads(line)["event"] == "error"]
        print(*bugs, sep="\n")
        return code or bool(bugs)


def _judged(schemathesis: str, command: Command, arguments: tuple[str, ...]) -> int:
    token = (command.root / ".recalld" / "token").read_text().strip()
    url = f"http://127.0.0.1:{command.environ['RECALLD_SERVE_PORT']}"
    description = command.root.parent / "openapi.json"
    description.write_bytes(httpx2.get(f"{url}/openapi.json", headers={"Authorization": f"Bearer {token}"}).content)
    options = ["run", str(description), "--url", url, "--header", f"Authorization: Bearer {token}", "--checks", "all"]
    more = ["--continue-on-failure", "--request-timeout", "60", "--suppress-health-check", "all", "--no-color"]
    config = ["--config-file", str(Path(__file__).with_name("schemathesis.toml"))]
    command_line = [schemathesis, *config, *options, *more, *arguments]
    return subprocess.run(command_line, cwd=description.parent, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
