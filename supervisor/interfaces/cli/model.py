"""The commands about the model that writes summaries: model test (docs/reference/cli.md)."""

from __future__ import annotations

import json as jsonlib
import subprocess
from typing import TYPE_CHECKING, Final

import typer

from recalld.supervisor.host.workers import worker_command
from recalld.supervisor.interfaces.cli.app import Context, Folder, Json, Now  # noqa: TC001 - typer reads the annotations
from recalld.supervisor.interfaces.cli.output import as_json
from recalld.supervisor.storage.catalogue import Text, restored
from recalld.supervisor.summaries.llm_state import end_pause

if TYPE_CHECKING:
    from recalld.supervisor.interfaces.cli.call import Call

model = typer.Typer(help="The model that writes summaries.", rich_markup_mode=None)

#: Characters of the answer that are shown.
_SHOWN: Final = 80


@model.command("test")
def model_test(
    ctx: Context,
    workspace: Folder = None,
    now: Now = None,
    json: Json = False,
) -> None:
    """Ask the model once, say what came, and end its pause if it answers; 69 if it does not."""
    call: Call = ctx.obj
    ws, _ = call.opened(workspace, now)
    ws.files.make_folder(ws.paths.state)
    # the worker alone talks to models: what it says of a fault here is what it will say of a summary
    asked = subprocess.run(
        [*worker_command(ws.paths.root), "--ask", "--json", "--language", call.language],
        capture_output=True,
        text=True,
        check=False,
    )
    if asked.returncode:
        raise typer.Exit(call.say(asked.stderr.strip().removeprefix("recalld worker: "), asked.returncode))
    found = jsonlib.loads(asked.stdout)
    why = restored(found.get("error", ""), found.pop("errorText", None))
    was_paused = "answer" in found and end_pause(ws.model_use)
    if json:
        call.show(as_json(found))
    elif "answer" in found:
        answer = " ".join(found["answer"].split())[:_SHOWN]
        call.show(call.tell(Text("model.answered", model=found["model"], seconds=found["seconds"], answer=answer)))
    if was_paused and not json:
        call.show(call.tell(Text("model.pause_over")))
    if "error" in found:
        raise typer.Exit(call.say(Text("model.no_answer", why=why), 69))


def register(app: typer.Typer) -> None:
    """Add the commands to *app*."""
    app.add_typer(model, name="model")
