"""
Requests that a client makes for itself, and no person: titles, tags, follow-up questions, summaries of a talk. Pure.

They are neither given memory nor recorded. Each pattern is the beginning of a prompt of one client, from its public source; a
client whose prompts were changed by its owner needs `serve.skip`, or the header `X-Recalld-Record: no`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ...text.lazy_re import lazy_re

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .talk import Talk

#: Characters of a prompt that are looked at.
_MOST_CHARS: Final = 20_000
#: How the last message begins of what a client asks for itself, by the client.
IN_MESSAGE: Final = (
    # Open WebUI, backend/open_webui/config.py: title, tags, follow-ups, queries, image prompts, autocompletion, emoji, merged
    # answers. The template for a question about documents begins in the same way, and has no history of the chat.
    r"\A### Task:\s(?s:.*)<chat_history>",
    r"\A### Task:\s+You are an autocompletion system\.",
    r"\AYour task is to reflect the speaker's likely facial expression through a fitting emoji\.",
    r"\AYou have been provided with a set of responses from various models to the latest",
    # LibreChat, titleInstruction, and danny-avila/agents, src/utils/title.ts: title
    r"\AAnalyze this conversation and provide:\s+1\. The detected language",
    r"\A(?:Please generate|Provide) a concise, 5-word-or-less title for the conversation",
    # NextChat, app/locales: title and summary
    r"\APlease generate a four to five word title summarizing our conversation without",
    r"\A使用四到五个字直接返回这句话的简要主题",
    r"\ASummarize the discussion briefly in 200 words or less to use as a prompt for future context",
    r"\A简要总结一下(?:你和用户的对话|对话内容)，用作后续的上下文提示 prompt",
    # the title of Chatbox
    r"\ABased on the chat history, give this conversation a name\.",
    # Claude Code: title and suggestion
    r"\APlease write a 5-10 word title for the following conversation",
    r"\A\[SUGGESTION MODE",
)
#: The same of its system prompt; that of Claude Code has a line about itself before.
IN_SYSTEM: Final = (
    # LobeChat, packages/prompts/src/chains: title and summary
    r"\AYou are a professional conversation summarizer\. Generate a concise title",
    r"\AYou are a conversation-savvy assistant\. Summarize the conversation into a title",
    r"\A你是一名擅长会话的助理，你需要将用户的会话总结为",
    r"\AYou're an assistant who's good at extracting key takeaways from conversations",
    # Cherry Studio, src/renderer, and OpenCode, packages/opencode/src/agent/prompt/title.txt: title
    r"\A总结给出的会话，将其总结为语言为",
    r"\AYou are a title generator\. You output ONLY a thread title\.",
    r"(?m:^)Analyze if this message indicates a new conversation topic",
    r"(?m:^)Generate a concise, sentence-case title",
)
_MESSAGE: Final = lazy_re("|".join(IN_MESSAGE))
_SYSTEM: Final = lazy_re("|".join(IN_SYSTEM))
#: Where an answer of so few tokens is asked for, it is only tried whether the model answers.
_TRIED: Final = ("max_tokens", "max_completion_tokens", "max_output_tokens")


def is_auxiliary(talk: Talk, skip: Iterable[str] = ()) -> bool:
    """Return whether no person asks: a rule or a pattern of *skip* (`serve.skip`) fits, or one token is asked for."""
    question, system = talk.said[talk.at].words[:_MOST_CHARS].strip(), talk.system[:_MOST_CHARS]
    if _MESSAGE.search(question) or _SYSTEM.search(system) or any(talk.value(name) in (0, 1) for name in _TRIED):
        return True
    return any(re.search(mark, question) or re.search(mark, system) for mark in skip)
