"""Mail addresses, phone numbers and postal addresses count as secrets where it is asked for, and ordinary text has none."""

from __future__ import annotations

import pytest

from recalld.supervisor.text.personal import PERSONAL
from recalld.supervisor.text.redact import marked

#: A text, and what is left of it.
MARKED = {
    "Write to anna.berg@example.com today.": "Write to [redacted] today.",
    "邮箱是 wang_fang@qq.com，记一下": "邮箱是 [已隐去]，记一下",
    "Call me at (415) 555-2671 after six.": "Call me at [redacted] after six.",
    "The hotel is +49 30 1234 5678, ask for Jana.": "The hotel is [redacted], ask for Jana.",
    "Ring 020 7946 0958 before noon": "Ring [redacted] before noon",
    "打13800138000找王芳": "打[已隐去]找王芳",
    "客服 400-820-8820": "客服 [已隐去]",
    "I live at 742 Evergreen Terrace, Springfield, OR 97475.": "I live at [redacted].",
    "Her address is P.O. Box 1187": "Her address is [redacted]",
    "Er wohnt Lindenstraße 12b im Hof": "Er wohnt [redacted] im Hof",
    "我住在中山路128号3单元502室，按门铃": "我住在[已隐去]，按门铃",
    "寄到上海市徐汇区天平路320号": "寄到[已隐去]",
}


@pytest.mark.parametrize("text", MARKED)
def test_marks_stand_in_the_place_of_personal_data(text: str) -> None:
    after = marked(text, PERSONAL)
    assert after == MARKED[text]
    assert marked(after, PERSONAL) == after
    assert marked(text) == text
