"""What a model thinks, and marks of its sources, are not what it said (supervisor/text/llm_output)."""

from __future__ import annotations

import pytest

from recalld.supervisor.text.llm_output import after_thoughts

HARMONY = "<|channel|>analysis<|message|>他问周五……<|end|><|start|>assistant<|channel|>final<|message|>周五部署。<|return|>"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<think>用户要日期</think>周五部署。", "周五部署。"),
        ("用户要日期\n</think>\n周五部署。", "周五部署。"),
        ("用户要日期\n</THINK>\n周五部署。", "周五部署。"),
        ("```python\n试试\n</think>\n周五部署。", "周五部署。"),
        ("Assistant: <think>用户要日期\n</think>\n周五部署。", "周五部署。"),
        (HARMONY, "周五部署。"),
        ("<|channel|>analysis<|message|>hm", ""),
        ("The quay closes at six \ue200cite\ue202turn0search1\ue201.", "The quay closes at six ."),
        ("码头六点关门【4:0†source】。", "码头六点关门。"),
    ],
)
def test_after_thoughts_is_what_is_said(text, said):
    assert after_thoughts(text).strip() == said


@pytest.mark.parametrize(
    "text",
    [
        "a `</think>` in code",
        "if a <| b",
        "【重要】周五部署。",
        "```\n</think>\n```\n标签",
        "周五。\n<think>够\n</think>\n猫",
    ],
)
def test_after_thoughts_leaves_what_only_looks_so(text):
    assert after_thoughts(text) == text
