"""
The texts of the source as gettext has them, and `python -m tests.texts`, which brings recalld.po up to date with them.

New texts come into the file without their Chinese, and those that nothing uses any more leave it.
"""

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.frontend import parse_keywords
from babel.messages.pofile import read_po, write_po

from recalld.supervisor.interfaces.cli.main import COMMAND_LINE

ROOT: Final = Path(__file__).parent.parent
PO: Final = ROOT / "supervisor/locale/zh_CN/LC_MESSAGES/recalld.po"
KEYWORDS: Final = parse_keywords(["Text", "t", "bad", "odd", "msgid:1", "msgid:1,2c,2t"])
#: The words of rows are made from the keys of an answer; no source has them as a text.
LABEL: Final = "label"


def translations() -> Catalog:
    """The Chinese texts."""
    with PO.open("rb") as file:
        return read_po(file, locale="zh_CN", domain="recalld")


def extracted() -> Catalog:
    """Every text of the source: in modules, in templates of the page, in the help of commands; and the words of rows."""
    found = Catalog(domain="recalld")
    for root in ("supervisor", "worker"):
        texts = extract_from_dir(
            ROOT / root,
            method_map=[("**.py", "python"), ("**.html", "jinja2")],
            options_map={"**.html": {"silent": "false"}},
            keywords=KEYWORDS,
        )
        with contextlib.redirect_stderr(io.StringIO()):  # Babel warns of each field that is an f-string
            for _, _, text, _, context in texts:
                found.add(text, context=context)
    for text in helps():
        found.add(text)
    for entry in translations():
        if entry.context == LABEL:
            found.add(entry.id, context=LABEL)
    return found


def helps() -> Iterator[str]:
    """The help of each command and of each of its options."""
    pending = [COMMAND_LINE]
    while pending:
        command = pending.pop()
        pending += getattr(command, "commands", {}).values()
        yield from (command.help, *(parameter.help for parameter in command.params))


def update() -> None:
    """Bring the file up to date."""
    catalogue = translations()
    catalogue.update(extracted(), no_fuzzy_matching=True, keep_user_comments=True, update_creation_date=False)
    with PO.open("wb") as file:
        write_po(file, catalogue, width=0, no_location=True, sort_output=True, ignore_obsolete=True)


if __name__ == "__main__":
    update()
