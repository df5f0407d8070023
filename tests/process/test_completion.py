"""What shells complete with the scripts of `recalld completion`; of each only where it is installed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S

pytestmark = pytest.mark.proof

ROOT = Path(__file__).parents[2]
#: What each shell is told to complete the line; it prints the words that come of it.
SHELLS = {
    "bash": """
        source <(recalld completion bash)
        read -ra COMP_WORDS <<< "$1"; [ "${1: -1}" = " " ] && COMP_WORDS+=("")
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _recalld_completion recalld
        printf "%s\\n" "${COMPREPLY[@]}"; [ ${#COMPREPLY[@]} != 0 ] || compgen -f -- "${COMP_WORDS[-1]}" """,
    "fish": """recalld completion fish | source; complete -C $argv[1] | string replace -r "\\t.*" "" """,
    "zsh": """
        zmodload zsh/zpty; zpty it zsh -f -i
        zpty -w it "PS1=; unsetopt zle_bracketed_paste; autoload -Uz compinit; compinit -u; source <(recalld completion zsh); echo re''ady"
        zpty -r -m it out "*ready*"; zpty -n -w it "$1"$'\\t'; zpty -r -m it out "*$2*"; print -r -- "$2" """,
}
LINES = {
    "recalld inv": ["invalidate"],
    "recalld index reb": ["rebuild"],
    "recalld fsck --repa": ["--repair"],
    "recalld import Bei": ["Beifen.json"],
}


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("shell", SHELLS)
def test_completion_completes_commands_options_and_files(shell, line, tmp_path):
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    (tmp_path / "Beifen.json").touch()
    command = tmp_path / "bin" / "recalld"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m recalld "$@"\n')
    command.chmod(0o755)
    environ = {
        "PATH": f"{command.parent}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "PYTHONPATH": str(ROOT),
        "LANG": "C.UTF-8",
    }
    words = [shell, "-c", SHELLS[shell], *([] if shell == "fish" else [shell]), line, *LINES[line]]
    done = subprocess.run(words, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert done.stdout.split() == LINES[line], done.stderr
