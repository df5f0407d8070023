"""The catalogue of texts: complete in both languages, and made in the language of who asks."""

from __future__ import annotations

import ast
import copy
import json
import pickle
import re
import string
import subprocess
import sys
from datetime import timedelta
from importlib import import_module
from pathlib import Path

import pytest

from recalld.supervisor.storage import errors
from recalld.supervisor.storage.catalogue import Text, render, restored, stored, template

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "supervisor/storage/catalogue"
SOURCES = [path for name in ("supervisor", "worker", "prompts", "recalld") for path in (ROOT / name).rglob("*.py")]
SOURCES = sorted(path for path in SOURCES if FOLDER not in path.parents and ".venv" not in path.parts)


def table(folder: str) -> dict[str, str]:
    """Every text of a language, by its code."""
    subjects = [path.stem for path in sorted((FOLDER / folder).glob("*.py")) if path.stem != "__init__"]
    found = {}
    for subject in subjects:
        texts = import_module(f"recalld.supervisor.storage.catalogue.{folder}.{subject}").TEXTS
        found.update({f"{subject}.{name}": text for name, text in texts.items()})
    return found


ENGLISH = table("english")
#: Without the help of commands and the meanings of events, whose English is where they are defined; tests/interfaces/test_help.py
#: and tests/page/test_pages.py hold the Chinese against it.
CHINESE = {code: text for code, text in table("chinese").items() if not code.startswith(("help.", "event."))}
#: Texts that are the same in both languages: a name, and a unit that Chinese has from English.
ALIKE = {"label.pinned", "label.tokens"}
#: The words of the log, which are English; the Chinese text names the event instead, and the file.
OF_THE_LOG = ["status.logged", "status.refused"]


def test_advice_to_repair_says_that_the_supervisor_has_to_be_stopped():
    for table, said in ((ENGLISH, "with the supervisor stopped"), (CHINESE, "停下 supervisor")):
        advice = {code: text for code, text in table.items() if "`recalld fsck --repair`" in text}
        assert advice
        assert [code for code, text in advice.items() if said not in text] == []


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def used() -> tuple[set[str], set[str]]:
    """The codes in the source, and what those begin with that are put together there."""
    codes, beginnings = set(), set()
    subjects = {code.partition(".")[0] for code in ENGLISH}
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                codes |= {node.value} & ENGLISH.keys()
            if isinstance(node, ast.JoinedStr) and len(node.values) > 1 and isinstance(node.values[0], ast.Constant):
                begin = str(node.values[0].value)
                beginnings |= {begin} if begin.partition(".")[0] in subjects and "." in begin and " " not in begin else set()
    return codes, beginnings


def made() -> list[tuple[str, set[str], str]]:
    """Each `Text("code", field=…)` of the source: its code, its fields, and where it is."""
    found = []
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Text":
                for code in ast.walk(node.args[0]):
                    if isinstance(code, ast.Constant) and "." in str(code.value):
                        given = {word.arg or "**" for word in node.keywords}
                        found.append((str(code.value), given, f"{path.relative_to(ROOT)}:{node.lineno}"))
    return found


def test_catalogue_has_the_same_codes_and_fields_in_both_languages():
    assert ENGLISH.keys() == CHINESE.keys()
    differing = [code for code, text in ENGLISH.items() if fields(text) != fields(CHINESE[code])]
    assert differing == OF_THE_LOG


def test_catalogue_has_every_code_of_the_source_with_its_fields():
    wrong = [
        (code, where)
        for code, given, where in made()
        if not code.endswith(".")
        and (code not in ENGLISH or ("**" not in given and fields(ENGLISH[code]) | fields(CHINESE[code]) != given))
    ]
    assert wrong == []


def test_catalogue_has_no_text_that_nothing_uses():
    codes, beginnings = used()
    unused = [code for code in ENGLISH if code not in codes and not code.startswith(tuple(beginnings))]
    assert unused == []


def test_catalogue_has_no_english_words_in_a_chinese_text():
    left = {
        code: text
        for code, text in CHINESE.items()
        if code not in ALIKE
        and (
            re.search(r"[a-z]{3,} [a-z]{2,}", re.sub(r"`[^`]+`|\{[^}]*\}", "", text)) or not re.search("[\u4e00-\u9fff{]", text)
        )
    }
    assert left == {}


def literals(node: ast.expr) -> list[str]:
    """The sentences that an expression spells out, not as a code of the catalogue."""
    match node:
        case ast.Constant(value=str(text)):
            return [text] if " " in text.strip() else []
        case ast.JoinedStr(values=values):
            return [part.value for part in values if isinstance(part, ast.Constant) and " " in part.value.strip()]
        case ast.IfExp(body=body, orelse=orelse):
            return [*literals(body), *literals(orelse)]
        case ast.BinOp(left=left, right=right):
            return [*literals(left), *literals(right)]
    return []


def test_errors_and_printed_sentences_are_made_from_codes():
    kinds = {kind.__name__ for kind in errors.SupervisorError.__subclasses__()} - {"InternalError"}
    spelt = []
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = ast.unparse(node.func).rpartition(".")[2]
            if name in kinds or name in {"say", "tell", "bad", "odd"}:
                named = {
                    "NoSummary",
                    "NoService",
                    "ServiceForbidden",
                    "NoProcess",
                    "say",
                    "tell",
                    "bad",
                    "odd",
                }  # whose first is no name
                said = node.args[0 if name in named else 1 :]
                spelt += [f"{path.relative_to(ROOT)}:{node.lineno} {text}" for one in said for text in literals(one)]
    assert spelt == []


@pytest.mark.parametrize("kind", errors.SupervisorError.__subclasses__(), ids=lambda kind: kind.__name__)
def test_an_error_has_a_code_and_a_sentence_in_both_languages(kind):
    assert template(kind.code, "en").endswith(".")
    assert template(kind.code, "zh").endswith("。")
    assert 400 <= kind.http_status < 600


def test_a_text_is_its_english_string_and_renders_in_both_languages():
    why = Text("argument.not_allowed", value="'all'", allowed=Text("argument.or_more", least=1))
    assert json.dumps({"why": why}) == '{"why": "\'all\' is not allowed, give 1 or more"}'
    assert render(why, "en") == why
    assert render(why, "zh") == "不能是 'all'，请给 1 或更大的数"
    assert render([why, why], "zh") == f"{render(why, 'zh')}、{render(why, 'zh')}"
    assert render(7, "zh") == "7"


def test_an_error_renders_the_texts_in_its_fields():
    refused = errors.BadRequest("limit", Text("argument.not_allowed", value=0, allowed=Text("argument.or_more", least=1)))
    assert str(refused) == "limit: 0 is not allowed, give 1 or more."
    assert render(refused, "zh") == "limit：不能是 0，请给 1 或更大的数。"
    assert render(errors.Busy("history.json", timedelta(seconds=2)), "zh").startswith(
        "history.json 正被另一个程序占用，等了 2 秒"
    )
    assert "现在是 3@1f3a9c0d，" in render(errors.StaleLine("3@00000000", "3@1f3a9c0d", "喝茶"), "zh")


def test_a_text_survives_copy_and_pickle():
    why = Text("argument.or_more", least=1)
    for again in (copy.deepcopy(why), pickle.loads(pickle.dumps(why))):  # noqa: S301 - our own
        assert (again, again.code, again.in_language("zh")) == (why, "argument.or_more", "1 或更大的数")


def test_a_stored_text_is_made_again_unless_somebody_changed_it():
    why = Text("model.fault", why=Text("server.unreachable"), model="qwen3:8b", server="127.0.0.1:11434")
    kept = json.loads(json.dumps(stored(why)))
    assert render(restored(str(why), kept), "zh") == "连不上服务器：127.0.0.1:11434 上的 qwen3:8b"
    assert restored(str(why), kept) == why
    for odd in (
        None,
        {},
        {"code": "no.code", "fields": {}},
        {"code": "model.fault", "fields": {}},
        [1],
        {"code": 7, "fields": 7},
    ):
        assert restored("it broke", odd) == "it broke"
    assert restored("it broke", kept) == "it broke"
    assert stored("it broke") is None


def test_an_english_text_loads_no_chinese():
    program = (
        "import sys; from recalld.supervisor.storage.errors import NotFound; print(str(NotFound('a.md'))); print(*sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    assert told.startswith("a.md does not exist")
    assert "catalogue.english.error" in told
    assert "catalogue.chinese" not in told
    assert "catalogue.english.argument" not in told
