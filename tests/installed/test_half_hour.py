"""The first half hour of a new user of a clean Debian, with README and tutorial alone, in both languages: script/test-install."""

import re

import pytest

from tests.booted.machine import PID, Machine, Unit, booted
from tests.installed.terminal import Terminal, follow, page, typed
from tests.process.command import until

pytestmark = booted("script/test-install", 900)
#: Of a language: how the names of its pages end, the locale of the user, what they say, ask and are told.
LANGUAGES = {
    "en": ("", "C.UTF-8", "The spare key is with Mrs Miller.", "where is the spare key?", "all well"),
    "zh": (".zh-CN", "zh_CN.UTF-8", "备用钥匙在王阿姨家。", "备用钥匙在哪里？", "一切正常"),
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_half_hour_with_the_pages_alone_ends_with_a_service_that_remembers(language):
    ending, locale, said, question, well = LANGUAGES[language]
    machine = Machine(PID)
    machine.do("timedatectl", "set-timezone", "Asia/Shanghai")  # the pages were printed there
    me = machine.person()
    readme, tutorial = page(f"README{ending}.md"), page(f"docs/tutorial/first-memory{ending}.md")
    install_page = page(f"docs/how-to/install{ending}.md")
    with Terminal(me, LANG=locale) as terminal:
        terminal.ok("cp -r /clone ~/recalld && cd ~/recalld")
        assert terminal.ok(typed(readme, "script/demo")[0]).count("── ") == 5
        for line in typed(install_page, "python3 -m venv"):
            terminal.ok(line)
        terminal.ok(f"echo '{typed(install_page, 'python3 -m venv')[-1]}' >> ~/.profile")
        assert follow(readme, terminal) == []

        (run,) = typed(readme, "recalld -w")
        terminal.ok(f"{run} >~/said 2>&1 &")
        until(lambda: '"not running"' not in terminal.ok("recalld -w ~/memory status --json"))
        terminal.ok("kill -INT %1; wait %1")
        terminal.ok("mv ~/memory ~/memory-of-readme; cd")
        assert follow(tutorial, terminal) == []

        install = re.search(r"`(recalld -w ~/memory service install)`", readme)
        assert install
        terminal.ok(install[1])
        terminal.ok("loginctl enable-linger")
    with Terminal(me, LANG=locale) as terminal:
        terminal.ok(f'recalld -w ~/memory append --role user --text "{said}"')
        assert said in terminal.ok(f'recalld -w ~/memory inject --query "{question}"')
        assert said in terminal.ok(f'recalld -w ~/memory search "{question}"')
        terminal.ok("recalld service status")
        assert well in terminal.ok("recalld -w ~/memory doctor")
    assert Unit("recalld.service", machine, me).show("ActiveState") == "active"
    assert "Traceback" not in machine.journal()
