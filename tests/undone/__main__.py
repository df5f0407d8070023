"""
Each mend that holds a loss, a double or a leak, and some others, undone in a copy of the tree: its test has to fail.

    python -m tests.undone              all rows, three to four minutes
    python -m tests.undone pieces link  the rows with one of these words

What the crash explorer can find is in its own rows (`python -m tests.crash --mutants`); here is what lies beyond it. A row finds its text
in whatever module it is; one whose text is nowhere, or twice, is an error: whoever changes a mend changes its row.
"""

import shutil
import subprocess
import sys
import sysconfig
import tempfile
import venv
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.undone.changelog import FIXED, Undone

ROOT: Final = Path(__file__).parents[2]
#: What a test needs of the tree, beside the installed packages.
_NEEDED: Final = (
    "recalld",
    "supervisor",
    "worker",
    "prompts",
    "tests",
    "bench",
    "docs",
    "script",
    "workspace",
    "pyproject.toml",
)

ROWS: Final = (
    *FIXED,
    # ── losses and doubles ──
    Undone(
        "a line of a batch is new each time",
        "*{message.key: message for message in new if message.key not in keys}.values()",
        "*(message for message in new if message.key not in keys)",
        "tests/archive/test_append.py::test_append_adds_a_line_that_stands_twice_or_is_sent_again_once",
    ),
    Undone(
        "what was deleted by hand is known by no file",
        "(has_other_words or holds)",
        "has_other_words",
        "tests/forgetting/test_forget.py::test_what_was_deleted_by_hand_stays_away_when_its_file_is_forgotten",
    ),
    Undone(
        "a restore unpacks hooks of git",
        " if _is_in_backup(entry.path)]",
        "]",
        "tests/checks/test_backup.py",
    ),
    Undone(
        "pieces that arrive late are damage",
        ", *_repeating(dated)]",
        "]",
        "tests/archive/test_pieces.py",
    ),
    Undone(
        "adoption is decided once",
        "(*unseen, *journal.unwritten.values())",
        "(*unseen,)",
        "tests/archive/test_pieces.py::test_intake_adopts_what_a_note_holds_that_arrives_later",
    ),
    Undone(
        "a stripped message that the journal was not told of is another",
        "with_own_id(entry) if isinstance(entry, Message) else entry",
        "entry",
        "tests/archive/test_intake.py::test_drop_box_gives_a_stripped_message_its_id_back",
    ),
    Undone(
        "a program sees an id before the journal has it",
        "(message.key, message) for message in journal.record_changed(recorded, after)",
        "()",
        "tests/archive/test_restore.py::test_intake_tells_the_journal_of_an_id_before_history_has_it",
    ),
    Undone(
        "a restored history has ids before the journal has them",
        "        journal.record_changed(backup, messages)\n",
        "",
        "tests/archive/test_restore.py::test_intake_tells_the_journal_of_an_id_before_history_has_it",
    ),
    Undone(
        "a power cut leaves a message under two numbers",
        'self.record("renumbered", [[self._attachments.keep(message.raw), *key] for message, key in pairs])',
        'self._record([*self._seen(messages), *line_of("dropped", [list(key) for key in keys])])',
        "tests/archive/test_identity.py::test_intake_numbers_each_message_anew_when_the_journal_is_cut_off",
    ),
    Undone(
        "a message without a time is put back by the clock",
        "timeless, first_sight)",
        "timeless, moment)",
        "tests/archive/test_intake.py::test_intake_reinserts_messages_without_times_in_their_order",
    ),
    Undone(
        "what has another number in a damaged history is another message",
        "    first = renumbered(history, journal.known)\n    return",
        "    first: dict[Key, Key] = {}\n    return",
        "tests/archive/test_identity.py::test_restore_history_knows_messages_whose_place_was_their_id",
    ),
    Undone(
        "what was dropped is of the window that a program writes",
        "is_derived(identity) and identity in self.by_fingerprint.get(identity[2:18], ())",
        "is_derived(identity)",
        "tests/archive/test_identity.py",
    ),
    Undone(
        "of two files of one name the longer one stays, whatever else the day has",
        "(dated[path].created, -len(keys[path]), path)",
        "(-len(keys[path]), path)",
        "tests/archive/test_pieces.py::test_repair_keeps_the_first_files_of_a_day_that_was_filed_as_one",
    ),
    Undone(
        "copies are searched",
        "    excluded_paths.update(copies({path: (record.digest, record.as_made) for path, record in records.items()}))\n",
        "",
        "tests/archive/test_pieces.py::test_copy_is_neither_found_nor_summarised_nor_touched",
    ),
    # ── leaks ──
    Undone(
        "an unknown chat is direct",
        'if chat == "channel" else "group", key)',
        'if chat == "channel" else "direct", key)',
        "tests/protocol/test_inbox.py",
    ),
    Undone(
        "a session has no mark",
        '"group" if re.search(_GROUP, words, re.IGNORECASE | re.VERBOSE) else "direct"',
        '"direct"',
        "tests/protocol/test_inbox.py",
    ),
    Undone(
        "secrets beside the answer are shown",
        "yield secret, bool(secret.label == self.contact or is_asked)",
        "yield secret, bool(secret.label == self.contact or is_called)",
        "tests/context/test_secrets.py",
    ),
    Undone(
        "secrets are shown in a group",
        "privacy.reveal and request.chat.is_direct",
        "privacy.reveal",
        "tests/context/test_secrets.py",
    ),
    Undone("the block hides nothing", "self._limits.hide(hit.unit.text)", "hit.unit.text", "tests/context/test_secrets.py"),
    Undone("redirects are followed", "follow_redirects=False,\n", "follow_redirects=True,\n", "tests/llm/test_provider.py"),
    Undone(
        "the server is quoted",
        "about = str(error.status_code)",
        'about = f"{error.status_code} {_words(error)}"',
        "tests/llm/test_provider.py",
    ),
    Undone(
        "a copy of a workspace is answered",
        "if list(request.folder) != folder_id(str(served.paths.root)):",
        "if False:",
        "tests/process/test_socket_server.py::test_supervisor_answers_nothing_for_a_copy_of_its_workspace",
    ),
    Undone(
        "stored text steers the terminal",
        'print(f"{printable(text)}',
        'print(f"{text}',
        "tests/process/test_commands.py::test_commands_print_nothing_that_steers_a_terminal",
    ),
    Undone(
        "an event in JSON steers the terminal",
        "return printable_json(line)",
        "return line",
        "tests/process/test_commands.py::test_events_print_nothing_that_steers_a_terminal",
    ),
    Undone(
        "a link in place of the index is followed",
        "if stat and not modes.S_ISDIR(stat.mode):\n            raise NotADirectoryError",
        "if False:\n            raise NotADirectoryError",
        "tests/recall/test_failures.py",
    ),
    Undone("strangers' files in the index are deleted", " if _PARTS.fullmatch(name)]", "]", "tests/recall/test_failures.py"),
    Undone(
        "a link in place of the pieces is swept",
        "if place is None or not modes.S_ISDIR(place.mode):",
        "if place is None:",
        "tests/archive/test_run.py",
    ),
)


def sources(tree: Path) -> dict[Path, str]:
    """The text of each module of the product."""
    return {path: path.read_text(encoding="utf-8") for name in ("supervisor", "worker") for path in (tree / name).rglob("*.py")}


def places(row: Undone, texts: Mapping[Path, str]) -> list[Path]:
    """The modules that have the row's text, one twice that has it twice."""
    return [path for path, text in texts.items() for _ in range(text.count(row.mended))]


def found(row: Undone, tree: Path) -> bool:
    """Tell whether the row's test fails in *tree* while its mend is undone there."""
    texts = sources(tree)
    if len(paths := places(row, texts)) != 1:
        raise SystemExit(f"{row.name}: {len(paths)} places have the text of this row, not one; change the row with the mend")
    path, text = paths[0], texts[paths[0]]
    path.write_text(text.replace(row.mended, row.before), encoding="utf-8")
    try:
        done = run(tree, row.test)
    finally:
        path.write_text(text, encoding="utf-8")
    if done.returncode > 1:
        raise SystemExit(f"{row.name}: {row.test} could not be run\n{done.stdout[-2000:]}")
    return done.returncode == 1


def run(tree: Path, *tests: str) -> subprocess.CompletedProcess[str]:
    """Run these tests in *tree*, to the first that fails."""
    command = [str(tree / ".venv/bin/python"), "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    return subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)


def make_tree(tree: Path) -> None:
    """Copy what tests need into *tree*, with an environment of its own."""
    for name in _NEEDED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tree / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, tree / name)
    # the tests start processes, and the installed recalld is that of the checkout
    venv.create(tree / ".venv", symlinks=True)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(tree / ".venv")}))
    (packages / "tree.pth").write_text(f"{tree}\n{sysconfig.get_path('purelib')}\n", encoding="utf-8")


def main(words: list[str]) -> int:
    """Undo each mend that *words* name, all without any; returns 1 when one is not found out."""
    rows = [row for row in ROWS if not words or any(word in row.name for word in words)]
    if not rows:  # pytest, given no test, would run them all
        raise SystemExit(f"no row has one of these words: {' '.join(words)}\n{__doc__}")
    missed = 0
    with tempfile.TemporaryDirectory(prefix="undone-") as folder:
        tree = Path(folder)
        make_tree(tree)
        done = run(tree, *{row.test: None for row in rows})
        if done.returncode:  # a test that fails in any case would find out every row
            raise SystemExit(f"a test fails while nothing is undone\n{done.stdout[-2000:]}")
        for row in rows:
            is_found = found(row, tree)
            missed += not is_found
            print(f"{'found ' if is_found else 'MISSED'}  {row.name}", flush=True)
    print(f"{len(rows)} mends undone, {len(rows) - missed} found")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
