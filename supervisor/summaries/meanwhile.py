"""
The extracts that stand where no model has written: while a group waits for its model, where no call is due, after two refusals.

So a memory is never worse for having a model. An extract that waits says so in its head, covers nothing and moves nothing: its
messages are pending as before, and the model's summary takes its place. One that needs no model (`enough`) and one whose model
failed twice (`refused`) cover their files as any summary does, until these, the model or its prompts change. Where the
model had written before, its text stays, and the extract of what came late stands below it. The file is the whole state: killed
anywhere, the next round decides the same. Source: docs/reference/protocol.md, 3.8 and 4.5.
"""

from dataclasses import replace
from datetime import datetime
from typing import Final

from ..archive.memory_folder import MemoryFolder
from ..extracts.candidates import are_courtesies
from ..protocol.config import Config
from ..protocol.paths import Period
from ..protocol.summary_file import Source, Summary
from ..storage.clock import local_day, to_wire
from ..storage.control import Control, ErrorCollector
from ..storage.errors import Conflict
from ..storage.files import FileVersion
from ..text.language import is_small_talk
from .llm_state import ModelUse, summary_writer
from .reading import blocks_of, extract_of, quotes_all, says_little
from .schedule import extracts_due

#: The text of an empty summary, so that a person who opens it knows why it is empty.
NOTHING: Final = "> 无需记录 · Nothing to record."
_PROVIDER: Final = "extractive"
#: Between a model's summary and the extract below it, and the fewest characters for which there is one.
_BETWEEN_TEXTS: Final = "\n\n"
_LEAST_ROOM: Final = 200


def write_extracts(now: datetime, *, memory: MemoryFolder, use: ModelUse, control: Control) -> int:
    """Write the extracts of the groups that wait for a model and have no summary yet, newest first; returns how many."""
    config = use.config
    # gather
    files, summaries = memory.dated(), memory.summaries()
    # decide
    today = local_day(now, config.archive.zone)
    due = extracts_due(files, summaries, today, config.archive.recent_days, summary_writer(memory, use))
    # apply
    written, errors = 0, ErrorCollector()
    for job in due:
        if control.should_stop():
            break
        with errors:
            text, is_enough = _read(job.period, job.sources, memory, config)
            written += write_extract(now, job.period, job.sources, text, memory, use, waits=not is_enough, enough=is_enough)
    errors.raise_first()
    return written


def waits_for_no_model(period: Period, sources: tuple[Source, ...], memory: MemoryFolder, config: Config) -> bool:
    """Return whether the extract of the group will stand, without a call."""
    return bool(config.summarize.least) and _read(period, sources, memory, config)[1]


def stands_alone(now: datetime, period: Period, sources: tuple[Source, ...], memory: MemoryFolder, use: ModelUse) -> bool:
    """Return whether the group needs no model; then its extract stands."""
    text, is_enough = _read(period, sources, memory, use.config)
    return is_enough and write_extract(now, period, sources, text, memory, use, enough=True)


def stand_after_refusals(
    now: datetime, period: Period, sources: tuple[Source, ...], memory: MemoryFolder, use: ModelUse
) -> bool:
    """
    Have the extract stand, since the model that is configured was refused; return whether it does.

    Where a model's summary stands, the extract of the new files goes below it, or that of all where a file of it has changed.
    """
    version, before = memory.read_summary(period)
    if before is None or before.extract:
        text, _ = _read(period, sources, memory, use.config)
        return write_extract(now, period, sources, text, memory, use, refused=use.model_version)
    late = tuple(source for source in sources if source not in before.sources)
    is_changed = not {source.name for source in late}.isdisjoint(source.name for source in before.sources)
    text, _ = _read(period, sources if is_changed else late, memory, use.config)
    summary = replace(before, created=to_wire(now), text=text or NOTHING, sources=sources, refused=use.model_version)
    if is_changed:
        summary = replace(summary, provider=_PROVIDER, model="", prompt="", extract=True, joined=False)
    elif before.text not in before.kept:  # a person's words are kept above
        room = use.config.archive.summarise_chars - len(before.text) - len(_BETWEEN_TEXTS)
        text = _read(period, late, memory, use.config, room)[0] if room > _LEAST_ROOM else ""
        summary = replace(summary, text=f"{before.text}{_BETWEEN_TEXTS}{text}".strip())
    return _written(summary, period, version, len(late), memory, use)


def write_extract(
    now: datetime,
    period: Period,
    sources: tuple[Source, ...],
    text: str,
    memory: MemoryFolder,
    use: ModelUse,
    *,
    waits: bool = False,
    enough: bool = False,
    refused: str = "",
) -> bool:
    """Write the extract *text* of the group in the place of none or of another extract; return whether it was written."""
    from .quality import reject_form  # imported here, since `status` only counts extracts

    archive = use.config.archive
    version, before = memory.read_summary(period)
    if (before and not before.extract) or (text and reject_form(text, archive.summarise_chars)):
        return False
    if before and (before.waits, before.enough, before.refused, set(before.sources)) == (waits, enough, refused, set(sources)):
        memory.ensure_summary_durable(period)  # a process that was killed behind this line has written it
        return True
    summary = Summary(
        period=period.label,
        zone=archive.timezone,
        created=to_wire(now),
        text=text or NOTHING,
        sources=sources,
        provider=_PROVIDER,
        extract=True,
        waits=waits,
        enough=enough,
        refused=refused,
        empty=not text,
        kept=before.kept if before else "",
    )
    return _written(summary, period, version, len(sources), memory, use)


def _written(
    summary: Summary, period: Period, seen: FileVersion | None, files: int, memory: MemoryFolder, use: ModelUse
) -> bool:
    """Write the summary, which has the extract of so many *files*; return whether it was written."""
    try:
        memory.write_summary(period, summary, seen)
    except Conflict:
        return False  # a person saved it at this moment
    use.events.emit("extracted", group=period.group, files=files, waits=summary.waits)
    return True


def _read(
    period: Period, sources: tuple[Source, ...], memory: MemoryFolder, config: Config, longest: int | None = None
) -> tuple[str, bool]:
    """
    Return the extract of the sources, and whether a model has nothing to add to it.

    A model has nothing to add to a day of fewer than `summarize.least` words, or of courtesies alone, and to a month whose
    extract has every message whole.
    """
    blocks = blocks_of(memory, (source.name for source in sources), config.archive.zone)
    text = extract_of(blocks, period, config, longest)
    is_enough = says_little(blocks, config.summarize.least)
    if config.summarize.least and period.kind == "month":
        words = (block.text for block in blocks if not is_small_talk(block.text))
        is_enough = are_courtesies(blocks) or quotes_all(text, words)
    return text, is_enough
