"""
The public sets of questions about long conversations, as folders that bench.reader and bench.recall take. Nothing of them is kept here.

    python -m bench.reader --convert locomo locomo10.json --data DIR          github.com/snap-research/locomo, data/ (CC BY-NC 4.0)
    python -m bench.reader --convert longmemeval longmemeval_s.json --data DIR   huggingface.co/datasets/xiaowu0162/longmemeval (MIT)
    python -m bench.reader --convert beam CHECKOUT --data DIR                 github.com/mohammadtavakoli78/BEAM, chats of 100K (no licence)

A message of LoCoMo's second speaker is the assistant's, and each begins with its speaker's name. A question to which the set gives no answer
(adversarial, abstention, _abs) is one whose right answer is that it is not known. BEAM's chats have days, not times: its messages are two minutes apart.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

Item = dict[str, Any]
#: A workspace by its name, with its messages and its questions.
Converted = Iterator[tuple[str, list[Item], list[Item]]]

_STEP: Final = timedelta(seconds=40)
_PLAN: Final = re.compile(r"\s*->->.*$")
#: LoCoMo's numbers of categories.
_LOCOMO: Final = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_BEAM_ANSWERS: Final = ("answer", "ideal_answer", "ideal_response", "expected_compliance")


def convert(form: str, source: Path, folder: Path) -> int:
    """Write the set as a folder of questions and workspaces; return how many questions it has."""
    lines = []
    for name, messages, questions in FORMS[form](source):
        place = folder / "workspaces" / name
        place.mkdir(parents=True, exist_ok=True)
        (place / "history.json").write_text(json.dumps(messages, ensure_ascii=False), encoding="utf-8")
        lines += [json.dumps({"dataset": form, "ws": name, **one}, ensure_ascii=False) for one in questions]
    (folder / f"{form}.questions.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return len(lines)


def locomo(source: Path) -> Converted:
    for talk in json.loads(source.read_text(encoding="utf-8")):
        said, messages = talk["conversation"], []
        for number in range(1, len(said)):
            began = _time(said.get(f"session_{number}_date_time", ""), "%I:%M %p on %d %B, %Y")
            if not began:
                continue
            for n, turn in enumerate(said.get(f"session_{number}", ())):
                role = "user" if turn["speaker"] == said["speaker_a"] else "assistant"
                seen = f" [a picture: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
                messages.append(_message(turn["dia_id"], role, f"{turn['speaker']}: {turn['text']}{seen}", began + n * _STEP))
        ids = {one["id"] for one in messages}
        yield (
            str(talk["sample_id"]),
            messages,
            [
                {
                    "qid": f"{talk['sample_id']}-{n}",
                    "category": _LOCOMO[one["category"]],
                    "question": one["question"],
                    "answer": "" if one["category"] == 5 else str(one["answer"]),
                    "evidence": [[found] for found in re.findall(r"D\d+:\d+", str(one.get("evidence", ""))) if found in ids],
                    "asked_at": messages[-1]["createdAt"],
                }
                for n, one in enumerate(talk["qa"])
            ],
        )


def longmemeval(source: Path) -> Converted:
    for one in json.loads(source.read_text(encoding="utf-8")):
        messages, evidence = [], []
        for number, (session, date) in enumerate(zip(one["haystack_sessions"], one["haystack_dates"], strict=True)):
            at = _time(date, "%Y/%m/%d (%a) %H:%M") or datetime(2023, 1, 1, tzinfo=UTC)
            for n, turn in enumerate(session):
                messages.append(_message(f"s{number}-{n}", turn["role"], turn["content"], at + n * _STEP))
                if turn.get("has_answer"):
                    evidence.append([f"s{number}-{n}"])
        messages.sort(key=lambda message: str(message["createdAt"]))
        is_unsaid = one["question_id"].endswith("_abs")
        asked_at = _time(one["question_date"], "%Y/%m/%d (%a) %H:%M") or datetime.now(UTC)
        question = {
            "qid": one["question_id"],
            "category": "abstention" if is_unsaid else one["question_type"],
            "question": one["question"],
            "answer": "" if is_unsaid else str(one["answer"]),
            "evidence": [] if is_unsaid else evidence,
            "asked_at": asked_at.isoformat(),
        }
        yield one["question_id"], messages, [question]


def beam(source: Path) -> Converted:
    folders = [path for path in (source / "chats/100K").iterdir() if path.name.isdigit()]
    for folder in sorted(folders, key=lambda path: int(path.name)):
        messages, at = [], datetime(2024, 1, 1, tzinfo=UTC)
        chat = json.loads((folder / "chat.json").read_text(encoding="utf-8"))
        for turn in (one for batch in chat for turns in batch["turns"] for one in turns):
            anchor = _time(turn.get("time_anchor") or "", "%B-%d-%Y")
            at = max(at, anchor or at) + 3 * _STEP
            messages.append(_message(f"b{turn['id']}", turn["role"], _PLAN.sub("", turn["content"]), at))
        ids = {message["id"] for message in messages}
        probes = json.loads((folder / "probing_questions/probing_questions.json").read_text(encoding="utf-8"))
        yield (
            f"beam-{folder.name}",
            messages,
            [
                {
                    "qid": f"beam-{folder.name}-{category}-{n}",
                    "category": category,
                    "question": one["question"],
                    "answer": ""
                    if category == "abstention"
                    else next((str(one[key]) for key in _BEAM_ANSWERS if one.get(key)), ""),
                    "evidence": [[f"b{found}"] for found in _flat(one.get("source_chat_ids")) if f"b{found}" in ids],
                    "asked_at": (at + timedelta(hours=1)).isoformat(),
                }
                for category, asked in probes.items()
                for n, one in enumerate(asked)
            ],
        )


def _message(name: str, role: str, text: str, at: datetime) -> Item:
    return {"id": name, "role": role, "text": text, "createdAt": at.isoformat()}


def _time(written: str, form: str) -> datetime | None:
    try:
        return datetime.strptime(written, form).replace(tzinfo=UTC)
    except ValueError:
        return None


def _flat(found: Any) -> list[Any]:
    """Return the ids in the nested lists and objects by which BEAM names its sources."""
    if isinstance(found, dict):
        found = list(found.values())
    if isinstance(found, list):
        return [one for part in found for one in _flat(part)]
    return [] if found is None else [found]


FORMS: Final = {"locomo": locomo, "beam": beam, "longmemeval": longmemeval}
