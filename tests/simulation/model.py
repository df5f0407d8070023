"""A model that answers, and fails in every way that models and their servers fail; what it does is drawn by the seed."""

import re
from collections.abc import Callable, Sequence
from random import Random

from recalld.supervisor.protocol.dated_file import Block
from recalld.supervisor.protocol.llm import Prompt, text_of, turns_of
from recalld.supervisor.protocol.task import Reason, Task
from recalld.supervisor.text.word_frequency import telling_words
from recalld.worker.providers import Completion, ProviderError, Usage
from tests.summaries.quality_cases import BAD

#: What each kind of time is made of: how the model behaves, and how often.
TIMES: dict[str, tuple[tuple[str, int], ...]] = {
    "perfect": (("well", 1),),
    "well": (("well", 96), ("bad text", 2), ("nothing", 1), ("slow", 1)),
    "down": (("unreachable", 1),),
    "limited": (("slow down", 6), ("well", 4)),
    "shaky": (("well", 4), ("fault", 2), ("timeout", 3), ("truncated", 2), ("slow", 1), ("dies", 2), ("doubled", 2)),
    "poor": (("bad text", 5), ("echo", 2), ("nothing", 2), ("empty", 2), ("refusal", 2), ("truncated", 2), ("well", 1)),
    "hopeless": (("bad text", 4), ("empty", 2), ("timeout", 2), ("too long", 1)),
}
_ERRORS: dict[str, tuple[Reason, str]] = {
    "unreachable": ("provider", "the server can't be reached"),
    "slow down": ("provider", "the server asks to slow down"),
    "fault": ("provider", "the server has a fault"),
    "timeout": ("timeout", "the server did not answer in time"),
    "truncated": ("truncated", "the answer was cut off at its length"),
    "empty": ("empty", "the answer is empty"),
    "refusal": ("refused", "the server's filter refused it"),
    "too long": ("input", "the prompt is longer than the model's context"),
}
#: Words of the prompt that a good summary tells, at most.
_TOLD = 400
_FENCED = re.compile(r"^(`{3,})\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
#: What stands before a message in a prompt.
_SPOKE = re.compile(r"^(?:\d\d:\d\d|\d{4}-\d\d-\d\d) \w+: ", re.MULTILINE)


class Extracts:
    """What makes extracts where no model is configured; the text itself is of no matter here."""

    name, model, extract = "extracts", "", True

    def summarise(self, task: Task, blocks: Sequence[Block]) -> str:
        return f"## 摘录\n\n- {task.period} 说了 {len(blocks)} 句话。"


class WorkerKilled(BaseException):
    """The worker's process dies here; the supervisor's lives."""


class ScriptedModel:
    """A provider of the worker; *slow* is called while it takes longer than any lease, *called* at each call."""

    name, model, extract = "scripted", "sim-1", False

    def __init__(self, rng: Random, slow: Callable[[], None], called: Callable[[], None]) -> None:
        self._rng = rng
        self._slow = slow
        self._called = called
        self.time = "well"
        self.calls = 0
        self.doubled = False  # the next result is delivered a second time

    def complete(
        self, prompt: Prompt, *, max_tokens: int, calling: Callable[[], None], cancelled: Callable[[], bool]
    ) -> Completion:
        calling()
        self.calls += 1
        self._called()
        moods = TIMES[self.time]
        mood = self._rng.choices([mood for mood, _ in moods], [weight for _, weight in moods])[0]
        usage = Usage(1, len(text_of(prompt)) // 3, 40)
        if mood in _ERRORS:
            reason, why = _ERRORS[mood]
            wait_s = self._rng.choice((0, 30, 3600, 40_000)) if mood == "slow down" else 0
            paid = Usage() if mood == "unreachable" else usage
            raise ProviderError(reason, why, usage=paid, overflow=mood == "too long", retry_after_s=wait_s)
        if mood == "dies":
            raise WorkerKilled
        if mood == "slow":
            self._slow()
        self.doubled = mood == "doubled"
        return Completion(self._text(mood, turns_of(prompt)[-1].content), usage)

    def _text(self, mood: str, prompt: str) -> str:
        if mood == "bad text":
            return self._rng.choice(BAD)[1]
        if mood == "nothing":
            return self._rng.choice(("无需记录", "Nothing to record.", "**无需记录**"))
        if mood == "echo":
            return prompt[: self._rng.choice((80, 900))]
        words = sorted(word for word in telling_words(_material(prompt)) if not word.isdigit())
        told = words[:: 1 + len(words) // _TOLD]
        turn = self.calls % max(1, len(told))  # no answer is as the one before
        told = told[turn:] + told[:turn]
        if "围栏里是引用的材料" in prompt:
            return f"## 那几天的事\n\n说到了{'、'.join(told)}。"
        return f"## What happened\n\n{', '.join(told)} came up."


def _material(prompt: str) -> str:
    """What stands between the fences, without the times and who spoke."""
    return _SPOKE.sub("", "\n".join(found[2] for found in _FENCED.finditer(prompt)))
