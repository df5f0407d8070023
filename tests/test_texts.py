"""Texts: complete in both languages, and made in the language of who asks."""

import ast
import json
import re
import string
import subprocess
import sys

from recalld.supervisor.storage import errors
from recalld.supervisor.storage.texts import Text, render, restored, stored
from tests.texts import LABEL, ROOT, extracted, translations

SOURCES = [path for name in ("supervisor", "worker", "prompts", "recalld") for path in (ROOT / name).rglob("*.py")]
SOURCES = sorted(path for path in SOURCES if ".venv" not in path.parts)
#: The Chinese by context and English.
CHINESE = {(entry.context, entry.id): entry for entry in translations() if entry.id}
#: Texts that are the same in both languages: names, and a unit that Chinese has from English.
ALIKE = {(LABEL, "pinned"), (LABEL, "tokens")} | {
    (None, text) for text in ("user, assistant, system or tool", "direct, group or channel", "bash, zsh or fish")
}


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def test_every_text_of_the_source_has_its_chinese_and_no_other_has_any():
    used = {(entry.context, entry.id) for entry in extracted() if entry.id}
    assert used - CHINESE.keys() == set()
    assert CHINESE.keys() - used == set()
    assert [entry.id for entry in CHINESE.values() if not entry.string or entry.fuzzy] == []


def test_the_chinese_of_a_text_has_its_fields():
    differing = {key for key, entry in CHINESE.items() if fields(entry.id) != fields(entry.string)}
    assert differing == set()


def test_advice_to_repair_says_that_the_supervisor_has_to_be_stopped():
    advice = [entry for entry in CHINESE.values() if "`recalld fsck --repair`" in entry.id and "{" in entry.id]
    assert advice
    assert [entry.id for entry in advice if "with the supervisor stopped" not in entry.id] == []
    assert [entry.string for entry in advice if "停下 supervisor" not in entry.string] == []


def test_a_chinese_text_has_no_english_words():
    chinese = [entry.string for key, entry in CHINESE.items() if key not in ALIKE]
    english = [text for text in chinese if re.search(r"[a-z]{3,} [a-z]{2,}", re.sub(r"`[^`]+`|\{[^}]*\}", "", text))]
    assert english == []
    assert [text for text in chinese if not re.search("[\u4e00-\u9fff{]", text)] == []


def literals(node: ast.expr) -> list[str]:
    """The sentences that an expression spells out, not as a Text."""
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


def test_texts_are_literals_and_errors_and_sentences_are_texts():
    kinds = {kind.__name__ for kind in errors.SupervisorError.__subclasses__()} - {"InternalError"}
    spelt, together = [], []
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            called = ast.unparse(node.func)
            if called in {"Text", "msgid"} and isinstance(node.args[0], (ast.JoinedStr, ast.BinOp)):
                together.append(f"{path.relative_to(ROOT)}:{node.lineno}")
            name = called.rpartition(".")[2]
            if name in kinds or name in {"say", "tell"}:
                named = {"NoSummary", "NoService", "NoProcess", "say", "tell"}  # whose first is no name
                said = node.args[0 if name in named else 1 :]
                spelt += [f"{path.relative_to(ROOT)}:{node.lineno} {text}" for one in said for text in literals(one)]
    assert (together, spelt) == ([], [])


def test_a_stored_text_is_made_again_unless_somebody_changed_it():
    cause = Text("the server can't be reached")
    why = Text("{why}: {model} at {server}", why=cause, model="qwen3:8b", server="127.0.0.1:11434")
    kept = json.loads(json.dumps(stored(why)))
    assert render(restored(str(why), kept), "zh") == "连不上服务器：127.0.0.1:11434 上的 qwen3:8b"
    assert restored(str(why), kept) == why
    assert stored(restored(str(why), kept))["text"] == why.msgid
    for odd in (None, {}, {"text": "nothing", "fields": {}}, {"text": why.msgid, "fields": {}}, [1], {"text": 7, "fields": 7}):
        assert render(restored("it broke", odd), "zh") == "it broke"
    assert render(restored("it broke", kept), "zh") == "it broke"
    assert stored("it broke") is None


def test_a_text_in_english_reads_no_translation():
    program = (
        "from recalld.supervisor.storage import errors, texts; print(str(errors.NotFound('a.md')));"
        "print(texts._translations.cache_info().currsize)"
    )
    told = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    assert told.startswith("a.md does not exist")
    assert told.endswith("\n0\n")
