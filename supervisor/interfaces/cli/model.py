"""The commands about the model that writes summaries: model test (docs/reference/cli.md)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import typer

from ...host.asked_worker import ask_worker
from ...protocol.task import AskedTask
from ...storage.texts import Text
from ...summaries.llm_state import end_pause
from .app import Context, Folder, Json, Now  # noqa: TC001 - typer reads the annotations
from .output import as_json

if TYPE_CHECKING:
    from .call import Call

model = typer.Typer(help="The model that writes summaries.", rich_markup_mode=None)

#: The question to the model, and the most characters of its answer that are shown.
_QUESTION: Final = "This is a test of the connection. Answer with one word: ready."
_SHOWN: Final = 80
#: Seconds that a worker may take in addition to its call.
_BESIDE_S: Final = 30.0


@model.command("test")
def model_test(
    ctx: Context,
    workspace: Folder = None,
    now: Now = None,
    json: Json = False,
) -> None:
    """Ask the model once, show its answer, and end its pause if it answers; 69 if it does not."""
    call: Call = ctx.obj
    ws, _ = call.opened(workspace, now)
    ws.files.make_folder(ws.paths.state)
    # only a worker asks models, so its error here is the one that a summary would meet
    task = AskedTask(id="model-test", kind="model-test", prompt=_QUESTION)
    asked = ask_worker(ws.paths.root, task, ws.config.llm.timeout.total_seconds() + _BESIDE_S, os.environ, call.language)
    if asked.result is None:
        raise typer.Exit(call.say(asked.sentence, asked.exit_code))
    result = asked.result
    outcome = {"answer": result.text} if result.status == "done" else {"error": result.error}
    found = {"model": result.model, "seconds": f"{result.duration_ms / 1000:.1f}", **outcome}
    was_paused = "answer" in found and end_pause(ws.model_use)
    if json:
        call.show(as_json(found))
    elif "answer" in found:
        answer = " ".join(found["answer"].split())[:_SHOWN]
        call.show(
            call.render(
                Text(
                    "{model} answered after {seconds} s: {answer}",
                    model=found["model"],
                    seconds=found["seconds"],
                    answer=answer,
                )
            )
        )
    if was_paused and not json:
        call.show(call.render(Text("its pause is over; a running supervisor asks it for summaries again.")))
    if "error" in found:
        raise typer.Exit(call.say(Text("no answer came: {why}.", why=result.error), 69))


def register(app: typer.Typer) -> None:
    """Add the commands to *app*."""
    app.add_typer(model, name="model")
