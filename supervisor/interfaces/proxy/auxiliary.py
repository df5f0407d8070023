"""
Requests that a client makes for itself, and no person: titles, tags, follow-up questions, summaries of a talk. Pure.

They are neither given memory nor recorded. Each rule is the beginning of a prompt of one client, from its public source; a
client whose prompts were changed by its owner needs `serve.skip`, or the header `X-Recalld-Record: no`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from recalld.supervisor.text.lazy_re import lazy_re

if TYPE_CHECKING:
    from collections.abc import Iterable

    from recalld.supervisor.interfaces.proxy.talk import Talk

#: Characters of a prompt that are looked at.
_MOST_CHARS: Final = 20_000


class Rule(NamedTuple):
    """What a *client* asks for itself, and the *pattern* of its last message, or of its system prompt (*is_system*)."""

    client: str
    what: str
    pattern: str
    is_system: bool = False


RULES: Final = (
    # backend/open_webui/config.py: title, tags, follow-ups, queries, image prompts, autocompletion, emoji, merged answers. The
    # template for a question about documents begins in the same way, and has no history of the chat.
    Rule("Open WebUI", "tasks", r"\A### Task:\s(?s:.*)<chat_history>"),
    Rule("Open WebUI", "autocompletion", r"\A### Task:\s+You are an autocompletion system\."),
    Rule("Open WebUI", "emoji", r"\AYour task is to reflect the speaker's likely facial expression through a fitting emoji\."),
    Rule("Open WebUI", "merged answers", r"\AYou have been provided with a set of responses from various models to the latest"),
    # danny-avila/agents, src/utils/title.ts; LibreChat, titleInstruction
    Rule("LibreChat", "title", r"\AAnalyze this conversation and provide:\s+1\. The detected language"),
    Rule("LibreChat", "title", r"\A(?:Please generate|Provide) a concise, 5-word-or-less title for the conversation"),
    # packages/prompts/src/chains of lobehub/lobe-chat
    Rule("LobeChat", "title", r"\AYou are a professional conversation summarizer\. Generate a concise title", True),
    Rule("LobeChat", "title", r"\AYou are a conversation-savvy assistant\. Summarize the conversation into a title", True),
    Rule("LobeChat", "title", r"\A你是一名擅长会话的助理，你需要将用户的会话总结为", True),
    Rule("LobeChat", "summary", r"\AYou're an assistant who's good at extracting key takeaways from conversations", True),
    # app/locales of ChatGPTNextWeb/NextChat
    Rule("NextChat", "title", r"\APlease generate a four to five word title summarizing our conversation without"),
    Rule("NextChat", "title", r"\A使用四到五个字直接返回这句话的简要主题"),
    Rule(
        "NextChat", "summary", r"\ASummarize the discussion briefly in 200 words or less to use as a prompt for future context"
    ),
    Rule("NextChat", "summary", r"\A简要总结一下(?:你和用户的对话|对话内容)，用作后续的上下文提示 prompt"),
    # src/renderer of Cherry Studio
    Rule("Cherry Studio", "title", r"\A总结给出的会话，将其总结为语言为", True),
    Rule("Chatbox", "title", r"\ABased on the chat history, give this conversation a name\."),
    # packages/opencode/src/agent/prompt/title.txt
    Rule("OpenCode", "title", r"\AYou are a title generator\. You output ONLY a thread title\.", True),
    # what Claude Code sends beside the talk; its system prompt has a line about itself before
    Rule("Claude Code", "title", r"\APlease write a 5-10 word title for the following conversation"),
    Rule("Claude Code", "title", r"(?m)^Analyze if this message indicates a new conversation topic", True),
    Rule("Claude Code", "title", r"(?m)^Generate a concise, sentence-case title", True),
    Rule("Claude Code", "suggestion", r"\A\[SUGGESTION MODE"),
)
_FOUND: Final = {rule: lazy_re(rule.pattern) for rule in RULES}
#: Where an answer of so few tokens is asked for, it is only tried whether the model answers.
_TRIED: Final = ("max_tokens", "max_completion_tokens", "max_output_tokens")


def is_auxiliary(talk: Talk, skip: Iterable[str] = ()) -> bool:
    """Return whether no person asks: a rule or a pattern of *skip* (`serve.skip`) fits, or one token is asked for."""
    question, system = talk.said[talk.at].words[:_MOST_CHARS].strip(), talk.system[:_MOST_CHARS]
    if any(pattern.search(system if rule.is_system else question) for rule, pattern in _FOUND.items()):
        return True
    if any(talk.value(name) in (0, 1) for name in _TRIED):
        return True
    return any(re.search(one, question) or re.search(one, system) for one in skip)
