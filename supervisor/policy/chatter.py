"""
Texts of a model that talks instead of summarising.

It thinks aloud, greets, answers somebody in the material, goes on with the talk, or says its own prompt. Only what is plain is
taken for that: the way a text begins, a line that nothing but a template has.
"""

from __future__ import annotations

import re
from typing import Final

from supervisor.text.chitchat import is_chitchat
from supervisor.text.prose import opening, outside_code, own_words

GREETING: Final = 160  # characters of a greeting

_ABOUT_IT: Final = (
    r"[^.\n]{0,60}\b(?:conversation|messages?|transcript|dialogue|chat|material|text|summary|summari[sz]\w*|user|prompt"
    r"|instructions?)\b"
)
_ABOUT_IT_ZH: Final = r"[^。\n《]{0,16}(?:对话|消息|聊天|这段|以上|上面|给定|用户|要求|摘要|总结)"
_THINKING: Final = re.compile(
    r"(?:(?:okay|ok|alright|hmm+|well|so|right|first)\b[,.:…\s]{0,4})?(?:(?:so )?the user "
    r"(?:wants|is asking|asked|has asked|needs|would like) me to (?:summar|read|write a summ|create|produce|condense|extract)"
    r"|(?:(?:i|we) (?:need to|have to|should|will)|i['’]ll|let me|let['’]s)(?: first| start by| now)? "
    rf"(?:summar|read|look|go through|analy|parse|see|write|produce|think|figure){_ABOUT_IT}"
    r"|(?:let['’]s|let me) (?:see|think)\b[.,:…]|the user (?:provided|gave|shared) (?:a|the|me|some)\b"
    r"|thinking process\b|my task is to\b)"
    r"|(?:(?:好的|好|嗯+|首先|那么|现在)[，,。…\s]{0,2})?(?:用户(?:让|要|想|希望|需要|要求)我(?:总结|概括|整理|把|对)"
    r"|(?:我们?|让我)(?:现在)?(?:需要|得|要|应该|来|先){0,3}(?:仔细)?(?:总结|阅读|看|分析|理解|通读|梳理|整理|读|提取)"
    rf"{_ABOUT_IT_ZH}|思考过程|我的任务是)",
    re.IGNORECASE,
)
_TAG: Final = r"(?:think|thinking|thought|reasoning)>"
_THOUGHT: Final = re.compile(rf"\s*</?{_TAG}|.*</{_TAG}\s*$", re.IGNORECASE)
_OPENED: Final = re.compile(rf"<{_TAG}", re.IGNORECASE)
_CLOSED: Final = re.compile(rf"</{_TAG}", re.IGNORECASE)
_ANSWER: Final = re.compile(
    r"(?:sure|certainly|of course|absolutely|great question|good question|no problem|happy to help|glad to help)\b[^\w\n]{1,4}"
    r"(?:i(?:['’]d| would| can|['’]ll| will)|you(?: can| could| should|['’]ll|['’]re| need)"
    r"|to (?:fix|do|solve|get|set|run|install|make|change|use|create|move|check)|here(?:['’]s| is| are)|first"
    r"|just|try|let(?:['’]s| me)|the easiest)\b"
    r"|(?:当然(?:可以|了)?|没问题|没有问题|好的|好问题|可以的|很高兴为[您你][^\n，。]{0,8})[！!，,。～~]{1,2}\s*"
    r"(?:[你您]|我(?:来|建议|会|可以|帮)|让我|如果您|没问题|没有问题|首先|先|请|要|试试|下面|以下|这里|这个问题|建议|可以|根据)",
    re.IGNORECASE,
)
_GREETING: Final = re.compile(
    r"(?:(?:hi|hello|hey|greetings|good (?:morning|evening|afternoon))\b|你好|您好|嗨|哈喽|大家好|早上好|晚上好)"
    r"(?:\W{0,8}(?:呀|啊)?\W{0,8}\Z"
    r"|.{0,60}?(?:how (?:can|may) i (?:help|assist)|what (?:can i (?:do|help)|would you like to (?:talk|do|know))"
    r"|here to help|(?:glad|happy|ready) to help"
    r"|有什么[^。\n]{0,8}(?:帮|可以)|很高兴|需要我?帮|我可以帮))",
    re.IGNORECASE | re.DOTALL,
)
_DONE: Final = re.compile(
    r"(?:the )?(?:summary|task|it)?(?: is| has been)? ?(?:done|completed?|finished|ready)"
    r"|(?:as requested, )?i(?:['’]ll| will| can) (?:now )?summari[sz]e (?:the|this|your)\b[^.\n]{0,40}"
    r"|(?:正在)?(?:总结|整理)中.{0,12}"
    r"|null|none|undefined|nil|nan|n/?a|todo|tbd|end|eof|no content|empty|object object|无|暂无|没有|空|无内容|略|待补充"
    r"|i have summari[sz]ed (?:the|your) \w+(?: above)?"
    r"|我?(?:已经?)?(?:全部)?(?:总结|整理|归纳|任务|处理)已?(?:好|完|完成|完毕|结束)了?|已(?:完成|总结|整理)好?(?:总结|整理|对话|任务)?了?",
    re.IGNORECASE,
)
_EDGES: Final = ' \t\n-.。!！…()（）[]【】"“”`'
_PROMPT: Final = re.compile(
    r"you are (?:an?|the)\b[^.\n]{0,80}\b(?:assistant|summari[sz]er|archivist|model)\b"
    r"|(?:please )?(?:summari[sz]e|condense) (?:the (?:following|conversation|dialogue|messages)|this)\b"
    r"|(?:system prompt|my (?:system )?(?:instructions|prompt))\b.{0,10}[:：]"
    r"|(?:my|the) (?:system )?(?:instructions|prompt) (?:are|is|says?)\b"
    r"|你是(?:一[个名位])?[^。\n]{0,30}(?:助手|模型|归档员|摘要员|机器人)"
    r"|请你?(?:帮我)?(?:总结|概括|归纳)[^。\n]{0,20}(?:对话|消息|内容|聊天)"
    r"|请你?(?:对|将|把|根据)(?:以下|下面|上面)的?(?:对话|消息|内容|聊天)"
    r"|(?:系统提示词?|我的(?:系统)?(?:指令|提示词))[^。\n]{0,10}(?:是|如下|：|:)",
    re.IGNORECASE,
)
_PLACEHOLDER: Final = re.compile(r"[ \t>*#-]*(?:\{(?:messages|date|month|daily_summaries|previous)\}[ \t:：]*)+")
_SPEAKER: Final = re.compile(
    r"(?:\*\*)?(?:(?P<them>user|human|用户|人类)|(?P<us>assistant|ai|bot|助手|助理|机器人))(?:\*\*)?[ \t]*[:：]", re.IGNORECASE
)
_TURN: Final = re.compile(r"\*\*\d\d:\d\d [a-z_-]+\*\*[ \t]*$")
_TEMPLATE: Final = re.compile(
    r"\s*(?:<\|[a-z_]{2,24}\|>|\[/?INST\]|<</?SYS>>|<(?:start|end)_of_turn>|#{2,3} (?:Instruction|Response|Human|Assistant):)"
    r"|.*(?:<\|[a-z_]{2,24}\|>|\[/?INST\])\s*$",
)


def thinks(text: str) -> bool:
    """Tell whether the text thinks aloud about its task, or holds a thought's tag at either end of a line."""
    return bool(_THINKING.match(opening(text))) or any(_THOUGHT.match(line) for line in own_words(text))


def thinks_on(text: str) -> bool:
    """Tell whether a thought is begun and never ended."""
    lines = own_words(text)
    words = "\n".join(lines)
    return any(map(_THOUGHT.match, lines)) and len(_OPENED.findall(words)) > len(_CLOSED.findall(words))


def says_hello(text: str) -> bool:
    """Tell whether the text is a greeting, a courtesy, a word that stands for nothing, or the news that work is done."""
    body = opening(text)
    greets = len(body) <= GREETING and bool(_GREETING.match(body))
    return greets or is_chitchat(body) or bool(_DONE.fullmatch(body.strip(_EDGES)))


def answers(text: str) -> bool:
    """Tell whether the text plainly answers somebody in the material, or goes on with the talk in both roles."""
    if _ANSWER.match(opening(text)):
        return True
    lines = outside_code(text)[0]
    speakers = {said.lastgroup for line in lines if (said := _SPEAKER.match(line))}
    return len(speakers) > 1 or any(_TURN.match(line) or _TEMPLATE.match(line) for line in lines)


def is_prompt(text: str) -> bool:
    """Tell whether the text begins as a prompt does, or has a line that is a placeholder and nothing more."""
    return bool(_PROMPT.match(opening(text))) or any(_PLACEHOLDER.fullmatch(line) for line in outside_code(text)[0])
