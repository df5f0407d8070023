"""
A message cut into sentences of one line each, which an extract quotes, and the cues by which a sentence is worth quoting.

Code blocks, tracebacks, logs and tables become their one telling line, a list follows the line that announces it, Markdown
marks at the start of a line are removed. Nothing is rephrased. What could forge structure in the file is escaped in
extractive.py.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from supervisor.text.tokenizer import HAN

if TYPE_CHECKING:
    from collections.abc import Iterator

_DECISION: Final = (
    r"决定|定了|定为|敲定|选了|就用|改成|改为|改到|改期|换成|换到|挪到|不用了|不再|不要了|一律|以后(?:都|就|叫|用)",
    r"取消|推迟|提前到|说好|约好",
    r"\b(?:decided?|decision|agreed|chose|settled|switch(?:ed|ing)?|postponed|cancell?ed)\b",
    r"\blet's (?!see|hope)|\bgo(?:ing)? with\b|\binstead of\b|\bno longer\b|\bfrom now on\b|\bmoved (?:to|from)\b",
)
_TO_DO: Final = (
    r"待办|记得|别忘|提醒|要去|得去|还没|打算|计划|准备|截止|到期|最迟|下周|下个?月|明天|后天|预约|报名",
    r"\b(?:to-?do|needs? to|have to|must|don't forget|plan(?:ning|s)? to|deadline|due|tomorrow|signed up)\b|\bremind",
    r"\bnext (?:week|month|year|time)\b",
)
_PERSON: Final = (
    r"喜欢|最爱|爱吃|讨厌|不吃|不喝|过敏|忌口|偏好|习惯|害怕|我叫|名字|生日|住在|住址|电话|地址|邮箱|职业|工作是|毕业",
    r"女朋友|男朋友|老婆|老公|妻子|丈夫|女儿|儿子",
    r"\b(?:prefers?|favou?rites?|hates?|can't stand|vegan|vegetarian)\b|\ballerg",
    r"\bmy (?:name|birthday|wife|husband|girlfriend|boyfriend|partner|son|daughter|address|phone|job)\b",
    r"\bI(?:'m| am) an? \w|\bI live\b",
)
_OWN: Final = (
    r"我(?:家|妈|爸|哥|姐|弟|妹|儿|女|老|爷|奶|们家|的|平时|现在|一直|要|将|在|也?去|用|买|穿|开)|参加",
    r"\bmy \w|\bour \w|\bI've (?:been|got|started|just)|\bI(?:'m| am) (?:now|going|running|taking|doing|starting|learning)\b",
)
_FINDING: Final = (
    r"原因|结果|结论|发现|解决|修好|修复|搞定|终于|原来是",
    r"\b(?:because|turns? out|fixed|confirmed|root cause|error|fatal|failed)\b",
)
_DATA: Final = (
    r"`[^`]+`|https?://|(?<!\w)[~.]?/\w+/|《[^》]+》|「[^」]+」|[¥￥$€£]\s?\d|\d\s?(?:元|块|万|%|％)",
    r"\d{4}-\d\d|\d+ ?[月号日点]|\d\d?:\d\d|周[一二三四五六日]",
    r"\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b|\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]* \d",
)

#: Each kind of cue and what it adds to a sentence, in words of the rarest kind.
CUES: Final = tuple(
    (re.compile("|".join(patterns), re.IGNORECASE), worth)
    for patterns, worth in ((_DECISION, 1.6), (_TO_DO, 1.0), (_PERSON, 1.2), (_OWN, 0.6), (_FINDING, 0.8), (_DATA, 0.8))
)

#: What makes a courtesy more than one: a number, a name given, code, something decided.
_TELLING: Final = re.compile(r"\d|我叫|名字|my name|`|/\w|《|决定|改|过敏|allerg", re.IGNORECASE)
#: How a sentence opens that greets, thanks, praises or offers help; short ones say nothing else.
_COURTESY: Final = re.compile(
    r"\W*(?:嗨|你好|您好|哈喽|早安|早上好|晚上好|晚安|再见|不客气|不用谢|没关系|谢谢|感谢|辛苦|加油|哇|哎呀|好的|当然可以|没问题|很高兴"
    r"|(?:那|这|听起来|听着)?真?是?(?:太|很)(?:好|棒)|听起来|我是.{0,4}AI|有什么.{0,6}帮"
    r"|(?:hi|hello|hey|good morning|good night|bye|thanks?|thank you|you're welcome|no problem|my pleasure)\b"
    r"|(?:wow|woah|whoa|yay|aww?|congrats|great|awesome|amazing|nice|cool|glad|sure|of course|certainly|got it|sounds)\b"
    r"|(?:so (?:happy|glad|proud)|totally|absolutely|i'm (?:your|an) ai|i (?:\S+ )?agree|how can i|let me know|can't wait)\b"
    r"|that(?:'s| is| sounds)? (?:so |really |such )?(?:great|awesome|amazing|nice|cool|wonderful)\b|keep (?:it|on)\b)",
    re.IGNORECASE,
)
_COURTESY_COLUMNS: Final = 40
#: Columns up to which a further clause of a courtesy says nothing: a name, "I see".
_NAME_COLUMNS: Final = 8
#: A clause that is a laugh, a sigh or praise, and nothing else.
_CRY: Final = re.compile(
    r"\W*(?:[哈呵嘻嘿嗯啊哦呀哎唉哇噢]+|(?:那|这)?(?:真|太|很|好)(?:好|棒|厉害|不错|开心|高兴)了?"
    r"|(?:ha){2,}h?|lol|phew|ugh|yikes|ouch|oh|ah|aw+)\W*",
    re.IGNORECASE,
)
#: A clause that wishes, or offers more of the same.
_WISH: Final = re.compile(
    r"\W*(?:我?(?:真|也|衷心)?(?:希望|祝愿?|愿|期待|相信)(?:你|您|一切|早日|这|能).{0,6}(?:早日|尽快|顺利|[开欢]心|[快欢]乐|愉快|健康"
    r"|康复|幸福|好起来|好转|享受|成功|满意|有帮助|帮到)|(?:听|看)(?:到?你|到?您)(?:这么|这样)"
    r"|(?:如果|要是|若).{0,8}(?:需要|问题)|(?:有|任何).{0,8}(?:需要|问题|困难)|(?:也?可以|请|欢迎)?随时(?:找|来|联系|告诉|问)"
    r"|我(?:也|真|很|都|会)*(?:为你|替你|高兴|开心|一直在|在这)|多?保重|加油|照顾好自己"
    r"|(?:and |so |but )?(?:(?:i |we )?(?:really )?hope (?:you(?:'re| are| feel| have| get| enjoy)|(?:this|it) helps)\b"
    r"|(?:i )?wish(?:ing)? you (?:all|a|luck|well)\b|take care\b|good luck\b|best of luck|all the best|get well"
    r"|have a (?:\w+ )?(?:day|night|time|weekend|trip)\b|feel free\b|if you (?:ever )?(?:need|have any) "
    r"|i(?:'m| am) (?:always |so |really )?(?:here for|happy for|glad|rooting)|you(?:'ve| have)? got this"
    r"|stay (?:safe|strong|well)))",
    re.IGNORECASE,
)
_CLAUSE_END: Final = re.compile(r"[，,。！!;；~～…]+|\.(?=\s|$)|\s[—–-]\s")
#: Code or a quotation that breaks off after a few words, or data without a word beside it.
_BROKEN: Final = re.compile(
    r".{0,30}`[^`]{0,60}…`|.{0,30}[`“「『《][^`”」』》]{0,8}…?|[!-~]{24}…|[^\s，。！？；、：]{24}…", re.DOTALL
)
#: Characters without a blank, or without a mark, from which they are data and no prose; and how many of them are shown.
_RUN: Final = re.compile(r"[!-~]+|[^\s!-~，。！？；、：…]+")
_DATA_RUN: Final = 300
_DATA_SHOWN: Final = 24
#: What is no word of a topic: addresses, paths, HTML, data.
_MACHINE: Final = re.compile(
    r"(?:https?|ftp|file)://[^\s，。）」]+|\bdata:\S+|[!-~]{24}…|</?[A-Za-z][^>\n]{0,200}>|&[a-z]{2,6};"
    r"|\b(?:[\w-]+\.)+(?:com|org|net|io|cn|dev|app|ai|edu|gov|me|co|uk|de|jp)\b(?:[/:][^\s，。]*)?|(?<![\w.])~?(?:/[\w.-]+){2,}",
    re.ASCII,
)
#: A word that names nothing: laughs, repeated letters, endings in hiragana, tags, placeholders.
_NAMELESS: Final = re.compile(
    r".*(.)\1\1.*|([a-z]{1,2})\2+|[哈呵嘻嘿嗯啊哦呀哎唉哇噢]+|.*[\u3041-\u309f].*"
    r"|h[1-6]|[hb]r|div|span|html?|href|img|src|https?|www|com|foo|ba[rz]|base64",
    re.IGNORECASE,
)
#: Cues that make a wish more than one: all but "my", "our".
_LEAST_CUE: Final = 0.8
#: What is in brackets alone: a picture, a sticker, a file.
_ATTACHED: Final = re.compile(r"\s*\[[^\]]*\]\s*")
#: What assistants say of themselves.
_DISCLAIMER: Final = re.compile(
    r"作为(?:一[个名位])?(?:虚拟|AI|人工智能|语言模型)|我(?:只)?是(?:一[个名位])?(?:AI|人工智能)|没有实体"
    r"|\bas an? (?:AI|language model)\b|\bI(?:'m| am) (?:just )?an AI\b",
    re.IGNORECASE,
)
_HARDLY: Final = 0.4


def substance(text: str) -> float:
    """Return the share of its words' worth that a sentence is given: a courtesy none, a caption or disclaimer little."""
    if _ATTACHED.fullmatch(text) or _DISCLAIMER.search(text) or _BROKEN.fullmatch(text):
        return _HARDLY
    if _TELLING.search(text):
        return 1.0
    return 0.0 if _only_wishes(text) else 1.0


def _only_wishes(text: str) -> bool:
    """Tell whether the sentence is courtesy and wishes clause by clause, and has no cue of a fact."""
    clauses = [clause for clause in _CLAUSE_END.split(text) if any(map(str.isalnum, clause))]
    if not clauses or any(cue.search(text) for cue, worth in CUES if worth >= _LEAST_CUE):
        return False
    first, *rest = clauses
    return _is_courtesy(first) and all(columns(clause) <= _NAME_COLUMNS or _is_courtesy(clause) for clause in rest)


def _is_courtesy(clause: str) -> bool:
    short = columns(clause) <= _COURTESY_COLUMNS and _COURTESY.match(clause)
    return bool(short or _WISH.match(clause) or _CRY.fullmatch(clause))


def data_shortened(text: str) -> str:
    """Return *text* with each run of data cut to its beginning, so that it never takes the place of words beside it."""
    return _RUN.sub(lambda run: f"{run[0][:_DATA_SHOWN]}…" if len(run[0]) > _DATA_RUN else run[0], text)


def topical(text: str) -> str:
    """Return *text* without what is no word of a topic: addresses, tags, data."""
    return _MACHINE.sub(" ", text)


def names_nothing(word: str) -> bool:
    """Tell whether a word is unfit for a heading: a laugh, a tag, an ending."""
    return bool(_NAMELESS.fullmatch(word))


def columns(text: str) -> int:
    """Return the width of *text* as it is seen: two for a wide character."""
    return len(text) + sum(char > "\u2e7f" for char in text)


def cue_worth(text: str) -> float:
    """Return the worth of all cues in a sentence."""
    return sum(worth for cue, worth in CUES if cue.search(text))


#: Characters from which a sentence is cut at a clause, and a list is no longer put into one sentence.
LONGEST: Final = 260
#: Between the cells of a table's row.
ROW: Final = " | "
#: Letters below which a piece joins its neighbour: "早。", "OK."
_STUMP: Final = 3
#: Lines from which indented or stamped text is a paste, not prose.
_PASTE_LINES: Final = 4
_CODE_CHARS: Final = 140
#: Characters of a message that are read: a pasted book says what it is on its first pages.
_READ: Final = 60_000
#: Characters before a full stop that show whether it ends a sentence.
_READ_BACK: Final = 12
#: List and quotation marks that may open one line.
_NESTED: Final = 8

_INVISIBLE: Final = re.compile(
    r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufffe\uffff]"
)
_BREAK: Final = re.compile(r"\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_FENCE: Final = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_MARKER: Final = re.compile(r"\s*(?:(?:>\s?)+|#{1,6}\s+|[-*+•]\s+(?:\[[ xX]\]\s+)?|\d{1,3}[.)、]\s*(?=\D))")
_ITEM: Final = re.compile(r"\s*(?:[-*+•]\s+|\d{1,3}[.)、]\s*(?=\D))")
#: A line that says nothing: a rule, a comment of HTML.
_RULE: Final = re.compile(r"\s*<!--.*-->\s*$|\s*([-=*_|:+]\s*){3,}$")
_ROW: Final = re.compile(r"\s*\|.*\|\s*$")
_PASTED: Final = re.compile(
    r"(?:\t| {4,}| {2}File )\S|.*[{};]\s*$|\w+(?:Error|Exception)\b"
    r"|\s*(?:at |File \"|Traceback \(|\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|[\d:.,]+ (?:INFO|WARN|DEBUG|ERROR))",
)
_FAULT: Final = re.compile(r"\b\w*(?:Error|Exception|Fatal|FATAL|ERROR|panic|failed|denied|refused|not found)\b", re.ASCII)
_DEFINITION: Final = re.compile(
    r"\s*(?:export |async |pub |public |static )*(?:def|function|func|fn|class|const|let|type|CREATE|SELECT|INSERT|FROM|RUN"
    r"|\$ |curl|git|docker|pip|npm|pnpm)\b",
)
_IDLE_CODE: Final = re.compile(r"\s*(?:#|//|/\*|\*|import |from \S+ import|using |package |[{}()\[\];,\s]*$)")

_END: Final = re.compile(
    rf"[。！？]+[”’\"'）)』」》\]]*|(?<![!?])[!?]+[”\"'）)\]]*(?=\s|$|[{HAN}])|(?<!…)…+(?=\s)|\.[”\"')\]]*(?=\s)",
)
_ABBREVIATED: Final = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|Mr|Mrs|Ms|Dr|Prof|St|No|approx|dept|Fig|Jr|Sr)|\b[A-Z]|^\d{1,2})$"
)
_OPEN: Final = {"（": "）", "(": ")", "「": "」", "『": "』", "“": "”", "《": "》", "【": "】"}
_CLAUSE: Final = re.compile(r"[，,；;、：:]\s*|\s[—–-]\s|\s+")


def sentences(text: str) -> list[str]:
    r"""
    Return the sentences of *text*, each on one line, in their order, as they are written.

    >>> sentences("今天 3.11 装好了。备份呢？\n- 路径 /srv/a.b\n- 端口 22")
    ['今天 3.11 装好了。', '备份呢？', '路径 /srv/a.b', '端口 22']
    """
    return [sentence for sentence, _ in sentences_and_items(text)]


def sentences_and_items(text: str) -> list[tuple[str, bool]]:
    """Return the sentences of *text* with whether each is an item of a list."""
    lines = _lines(data_shortened(clean(text[:_READ])))
    return [(sentence, item) for line, item in lines for sentence in _split(line)]


def clean(text: str) -> str:
    """Return *text* with plain line breaks and without characters that can't be seen, or can't be written."""
    return _SURROGATE.sub("\ufffd", _INVISIBLE.sub("", _BREAK.sub("\n", text)))


def cut(text: str, longest: int) -> str:
    """Return *text* up to a clause of at most *longest* characters, marked with …, and not inside of a quotation or code."""
    if len(text) <= longest:
        return text
    ends = [match.start() for match in _CLAUSE.finditer(text, 0, longest - 1)]
    end = ends[-1] if ends and ends[-1] > longest // 2 else longest - 1
    shown = text[:end].rstrip()
    opened = _last_open(shown)
    if opened >= 0 and opened > longest // 2:
        return text[:opened].rstrip() + "…"
    return f"{shown}…`" if shown.count("`") % 2 else f"{shown}…"


def _last_open(text: str) -> int:
    """Return the place of the code tick, bracket or quotation mark that is opened last and never closed, -1 without one."""
    places = [text.rfind("`") if text.count("`") % 2 else -1]
    places += [text.rfind(left) for left, right in _OPEN.items() if text.rfind(left) > text.rfind(right)]
    return max(places)


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Yield line by line what is said, and whether it is an item; a short list is one line with what announces it (a colon)."""
    lead = ""
    for kind, rows in _groups(text):
        said = [(line, kind == "item") for line in _told(kind, rows)]
        if lead and said:
            joint = "；" if lead.endswith("：") else "; "
            whole = f"{lead} {joint.join(line for line, _ in said)}"
            said = [(whole, False)] if len(whole) <= LONGEST else [(lead, False), *said]
            lead = ""
        if said and said[-1][0].endswith((":", "：")):
            lead = said.pop()[0]
        yield from said
    if lead:
        yield lead, False


def _groups(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the lines of each list, table, paste or code block together, every line of prose alone."""
    rows: list[str] = []
    kind = ""
    for found, line in _kinds(text):
        if found != kind or found == "prose":
            yield kind, rows
            rows = []
        kind = found
        rows.append(line)
    yield kind, rows


def _kinds(text: str) -> Iterator[tuple[str, str]]:
    """Yield every line with what it is: prose, item, row, paste, code; a blank line ends what is open."""
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence):
                fence = ""
                yield "", ""
            else:
                yield "code", line
        elif mark:
            fence = mark[1]
            yield "", ""
        elif not line.strip() or _RULE.match(line):
            yield ("row" if "|" in line else ""), ""
        elif _ROW.match(line):
            yield "row", line
        elif _PASTED.match(line):
            yield "paste", line
        else:
            yield ("item" if _ITEM.match(line) else "prose"), line


def _told(kind: str, rows: list[str]) -> Iterator[str]:
    lines = [row for row in rows if row.strip()]
    if not lines:
        return
    if kind == "row":
        # the head of a table says nothing alone; its rows keep their cells
        yield from (ROW.join(cell.strip() for cell in row.strip().strip("|").split("|")) for row in lines[1:] or lines)
    elif kind == "code" or (kind == "paste" and (len(lines) >= _PASTE_LINES or lines[0].startswith("Traceback ("))):
        yield _telling(lines)
    else:
        yield from (bare for line in lines if (bare := _bare(line)))


def _telling(lines: list[str]) -> str:
    """Return the one line of code or log that says most: the last fault, else a definition or command, else the first."""
    faults = [line for line in lines if _FAULT.search(line)]
    definitions = [line for line in lines if _DEFINITION.match(line)]
    rest = [line for line in lines if not _IDLE_CODE.match(line)]
    line = (faults[-1:] or definitions[:1] or rest[:1] or lines[:1])[0].strip()
    return f"`{cut(line.replace('`', ''), _CODE_CHARS)}`"


def _bare(line: str) -> str:
    """Return the line without the marks that open it; the same mark may occur more than once."""
    bare = line
    for _ in range(_NESTED):
        mark = _MARKER.match(bare)
        if not mark:
            break
        bare = bare[mark.end() :]
    return " ".join(bare.split())


def _split(line: str) -> list[str]:
    """Return the line's sentences; one that is hardly a word stays with the next, the last with the one before."""
    if ROW in line or (line.startswith("`") and line.endswith("`")):
        return [cut(line, LONGEST)]
    pieces: list[str] = []
    start = 0
    for match in _END.finditer(line):
        piece = line[start : min(match.end(), start + LONGEST)].strip()
        if match[0].startswith(".") and _ABBREVIATED.search(line[start : match.start()][-_READ_BACK:]):
            continue
        if len(piece) < LONGEST - 1 and (_unclosed(piece) or sum(char.isalnum() for char in piece) < _STUMP):
            continue
        pieces.append(line[start : match.end()].strip())
        start = match.end()
    rest = line[start:].strip()
    if rest and pieces and sum(char.isalnum() for char in rest) < _STUMP:
        pieces[-1] = line[line.rindex(pieces[-1]) :].strip()
    elif rest:
        pieces.append(rest)
    return [cut(piece, LONGEST) for piece in pieces]


def _unclosed(piece: str) -> bool:
    """Tell whether a bracket or quotation mark is still open; not for ever, since people forget to close them."""
    return any(piece.count(left) > piece.count(right) for left, right in _OPEN.items())
