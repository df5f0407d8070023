"""
Who owes, lends and pays back, and to whom: the one relation between people that an answer is compared by.

By the verbs of both languages, and by the person who is named beside them; the other one is mostly "I", whom a summary calls
by name. 借 alone says neither: who gets and who gives are told by 给, 向, 还 and 欠. Nor does 转给, which lends and pays back.
Pure.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Final, TypeAlias

from recalld.supervisor.summaries.names import names
from recalld.supervisor.summaries.shape import SENTENCE_ENDS
from recalld.supervisor.text.figures import figures
from recalld.supervisor.text.lazy_re import lazy_re
from recalld.supervisor.text.tokenizer import HAN

if TYPE_CHECKING:
    from collections.abc import Collection

#: Whether a person has to give, and the numbers that the sentence says.
_Role: TypeAlias = "tuple[bool, frozenset[float]]"
_WHOSE: Final = r"(?:(?:my|his|her|their|the|brother|sister|friend) )*"
_WHEN: Final = r"(?:去年|前年|之前|上个?月|上次|今天|昨天|先|又|也|还|仍|已经?|一共|总共)*"
#: How it is written that a person has to give, and that one gets; WHO stands for all who are named.
_OWES: Final = (
    r"WHO(?:['’]s)? (?:(?:still|also|now|then|has|only) )*(?:owes?|owed|borrow(?:s|ed|ing)|repa(?:ys|id))\b",
    r"WHO(?:['’]s)? (?:(?:then|has|only) )*pa(?:ys|id) (?:\S+ )?back\b",
    rf"\b(?:lent|lends?|lending) (?:to )?{_WHOSE}WHO\b",
    rf"WHO{_WHEN}(?:欠(?!款)|没有?还(?!给)|还[了清]|还\d|借[走了去]*[我咱])",
    rf"WHO{_WHEN}[向跟找问][^，,。；;\n]{{1,8}}?借",
    r"借给了?WHO",
    r"[替帮给为]WHO(?:先|都)*垫",
)
_IS_OWED: Final = (
    rf"\b(?:owes?|owed|owing|repa(?:y|ys|id|ying)|pa(?:y|ys|id|ying) back(?: to)?) {_WHOSE}WHO\b",
    r"WHO(?:['’]s)? (?:(?:has|is|once) )*(?:lent|lends|lending)\b",
    rf"\bborrow(?:s|ed|ing)?\b[^.;\n]{{0,40}}? from {_WHOSE}WHO\b",
    r"欠了?[^，,。；;\n]{0,3}?WHO",
    r"还给[^，,。；;\n]{0,3}?WHO",
    r"[向跟找问][^，,。；;\n]{0,3}?WHO[^，,。；;\n]{0,2}?借",
    r"(?<![替帮给为])WHO(?:先|都)*(?:借给|垫)",
)
_CAPITALISED: Final = lazy_re(r"\b(?!(?:I|We|He|She|They|You|It|The|Then|And|But|Who|Mr|Mrs|Ms|Dr)\b)[A-Z][a-z]+\b")
_FAMILIAR: Final = lazy_re(f"[老小阿](?!板|时|区|心|伴|公|婆|店|家|房|师)[{HAN}]")
_VERBS: Final = "借欠还垫转"  # jieba may take one for the end of a name: 许安借
_KIN: Final = (
    *("brother", "sister", "mum", "mom", "dad", "landlord", "landlady", "neighbour", "neighbor", "boss"),
    *("哥哥", "弟弟", "姐姐", "妹妹", "我哥", "我弟", "我姐", "我妹", "房东", "老板", "邻居", "同事"),
)


def swaps_debts(text: str, material: str) -> bool:
    """
    Return whether somebody who has to give by the text only gets by the material, or the other way round.

    Two sentences are of one debt where they say a number that is the same, or neither says one.

    >>> swaps_debts("Hannah owes her brother Callum £1,200.", "Callum still owes me £1,200 for the car.")
    True
    >>> swaps_debts("许宁向许安借了 18,000。", "许安去年借了我 18,000，没还呢。")
    True
    >>> swaps_debts("Callum owes Hannah £1,200.", "My brother Callum still owes me £1,200 for the car.")
    False
    """
    people = _people(text)
    own = _roles(text, people) if people else {}
    theirs = _roles(material, people) if own else {}
    return any(_is_swapped(role, theirs.get(name, ())) for name, roles in own.items() for role in roles)


def _is_swapped(role: _Role, said: Collection[_Role]) -> bool:
    """Return whether those of the roles that were *said* of the same debt are all the other one."""
    owes, amounts = role
    same = [theirs for theirs, others in said if amounts & others or amounts == others]
    return bool(same) and owes not in same


def _people(text: str) -> set[str]:
    """Return whom the text names, and words for kin."""
    named = {name.rstrip(_VERBS) for _, name in names(text)} | set(_CAPITALISED.findall(text)) | set(_FAMILIAR.findall(text))
    return named | {kin for kin in _KIN if kin in text}


def _roles(text: str, people: Collection[str]) -> dict[str, set[_Role]]:
    """Return of each of the people what they have to give or to get by the sentences of the text."""
    found: dict[str, set[_Role]] = defaultdict(set)
    who = f"(?:{'|'.join(_KIN)})?({'|'.join(map(re.escape, sorted(people, key=len, reverse=True)))})"
    forms = [(owes, "|".join(some).replace("WHO", who)) for owes, some in ((True, _OWES), (False, _IS_OWED))]
    for sentence in SENTENCE_ENDS.split(text):
        amounts = frozenset(one.base for one in figures(sentence) if one.kind == "number" and not one.is_word)
        for owes, form in forms:
            for match in re.finditer(form, sentence):
                found[next(filter(None, match.groups()))].add((owes, amounts))
    return found
