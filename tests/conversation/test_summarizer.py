"""ConversationSummarizer: a conversation becomes one line, or nothing is lost and the reason is told."""

from __future__ import annotations

import asyncio
import inspect
import re
import threading
from datetime import timedelta
from types import SimpleNamespace

import pytest

from recalld.supervisor.conversation.session_lines import ConversationSummarizer
from recalld.supervisor.protocol.config import Config
from recalld.supervisor.protocol.config_keys import Llm, Privacy
from recalld.supervisor.storage.errors import NoSummary
from recalld.supervisor.text.llm_input import estimate_tokens
from tests.conversation.talk import Scripted, answer, fenced, question

LINE = "讨论了API设计方案；决定使用RESTful风格；认证方案选JWT"
TALK = [
    question("API 用什么风格？"),
    answer("建议 RESTful。"),
    question("行，认证用 JWT"),
    answer("好，API 用 RESTful，认证用 JWT。"),
]
SHORT = timedelta(milliseconds=20)


def summarize(provider, messages=TALK, previous="", **options):
    return asyncio.run(ConversationSummarizer(provider, **options).summarize_conversation(messages, previous))


@pytest.mark.feature("000.15", "000.16", "000.19", "000.49")
def test_summarize_conversation_asks_once_at_0_3_and_joins_all_pieces():
    model = Scripted(lambda _: LINE)

    assert summarize(model) == LINE
    assert model.temperatures == [0.3]
    assert "USER: API 用什么风格？\nASSISTANT: 建议 RESTful。" in model.prompts[0]
    assert str(inspect.signature(ConversationSummarizer)).startswith(
        "(provider: 'ChatStream | Model', char_limit: 'int' = 2000"
    )


@pytest.mark.feature("000.19")
def test_summarize_conversation_continues_a_previous_summary():
    model = Scripted(lambda _: f"{LINE}；对花生过敏")

    assert summarize(model, [question("对花生过敏")], LINE).endswith("对花生过敏")
    assert fenced(model.prompts[0]) == [LINE, "USER: 对花生过敏"]
    assert "不超过 2000 个字" in model.prompts[0]


class Chunks:
    """What other programs stream: an asynchronous generator, a coroutine that gives one, plain lists, chunks of openai and CountBot."""

    def __init__(self, kind):
        self.kind = kind

    def chat_stream(self, *, messages, temperature):
        return getattr(self, self.kind)()

    async def asynchronous(self):
        for char in LINE:
            yield char

    async def awaited(self):
        return self.asynchronous()

    def openai(self):
        yield SimpleNamespace(choices=[])
        for char in (None, *LINE):
            yield SimpleNamespace(choices=[SimpleNamespace(delta=SimpleNamespace(content=char))])

    def objects(self):
        return [{"choices": [{"delta": {"content": char}}]} for char in LINE]

    async def countbot(self):
        yield SimpleNamespace(content=None, reasoning_content="想一想", error=None)
        yield SimpleNamespace(content=LINE, error=None)


@pytest.mark.parametrize("kind", ["asynchronous", "awaited", "openai", "objects", "countbot"])
def test_summarize_conversation_reads_every_kind_of_stream(kind):
    assert summarize(Chunks(kind)) == LINE


@pytest.mark.parametrize("tokens", [1024, 2048, 8192])
def test_summarize_conversation_leaves_room_in_the_models_context(tokens):
    facts = [f"第{n}号机柜在{n}楼，" for n in range(700)]
    model = Scripted(lambda _: "机柜清单：每层楼一个机柜，编号与楼层相同")

    summarize(model, [question("机柜清单"), answer("".join(facts))], config=Config(llm=Llm(context_tokens=tokens)))

    assert all(estimate_tokens(prompt) <= tokens * 3 // 4 for prompt in model.prompts)
    assert all(fact in "".join(fenced(prompt)[-1] for prompt in model.prompts) for fact in facts[::50])


@pytest.mark.feature("000.20")
@pytest.mark.parametrize("said", ["无需记录", "无需记录。", "**无需记录**", "Nothing to record."])
@pytest.mark.parametrize(
    "talk",
    [
        [question("你好呀"), answer("你好！有什么可以帮你的吗？")],
        [question("今天下雨吗？"), answer("小雨，24 度")],
        [question("what time is my favourite show on tonight"), answer("At 21:00.")] * 12,
        TALK,
    ],
)
def test_summarize_conversation_believes_nothing_to_record_and_asks_once(said, talk):
    model = Scripted(lambda _: said)
    assert summarize(model, talk) == ""
    assert len(model.prompts) == 1
    assert summarize(model, talk, "旧的；一行") == "旧的；一行"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("", "empty"),
        ("<think>用户要总结</think>", "thought"),
        ("抱歉，我无法协助处理该请求。", "refused"),
        ("502 Bad Gateway\n\nnginx/1.24.0", "vague"),
        ('{"summary": "API"}', "data"),
        ("花" * 1_000_000, "refused"),
        ("- 用完整的句子写，几件事之间用“；”隔开，比对话短得多。", "vague"),
        (RuntimeError("密钥 sk-demo"), "provider"),
    ],
)
def test_summarize_conversation_keeps_no_text_that_is_no_summary(said, reason):
    with pytest.raises(NoSummary) as refused:
        summarize(Scripted(lambda _: said))
    assert refused.value.reason == reason
    assert "sk-demo" not in str(refused.value)


def test_summarize_conversation_does_not_wait_for_a_model_that_hangs():
    release = threading.Event()

    class Hanging:
        def chat_stream(self, *, messages, temperature):
            release.wait()
            return iter([LINE])

    class Silent:
        async def chat_stream(self, *, messages, temperature):
            await asyncio.Event().wait()

    for model in (Hanging(), Silent()):
        with pytest.raises(NoSummary) as refused:
            summarize(model, config=Config(llm=Llm(timeout=SHORT)))
        assert refused.value.reason == "timeout"
    release.set()


def test_summarize_conversation_has_a_long_line_made_shorter():
    answers = iter([f"{LINE}；{'；'.join(f'接口{one}返回 JSON' for one in '甲乙丙丁戊己庚辛')}", LINE])
    model = Scripted(lambda _: next(answers))

    assert summarize(model, char_limit=60) == LINE
    assert int(re.search(r"不超过 (\d+) 个字", model.prompts[1])[1]) < 60
    with pytest.raises(NoSummary, match="longer than 20 characters"):
        summarize(Scripted(lambda _: LINE), char_limit=20)


def test_summarize_conversation_makes_one_line_of_a_list_and_hides_secrets():
    model = Scripted(lambda _: "- 决定使用 RESTful 风格。\n- 认证方案选 JWT。")

    assert summarize(model, [*TALK, question("数据库密码是 hunter2-demo")]) == "决定使用 RESTful 风格；认证方案选 JWT"
    assert "hunter2" not in model.prompts[0]
    summarize(model, [*TALK, question("数据库密码是 hunter2-demo")], config=Config(privacy=Privacy(redact="off")))
    assert "hunter2" in model.prompts[1]
