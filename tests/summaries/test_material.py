"""What an answer says against its material: too little, in whatever spelling, or a copy."""

from __future__ import annotations

from datetime import date

import pytest

from recalld.supervisor.summaries.quality import Material, says_less

MONDAY = date(2026, 1, 26)
SAID = (
    "家里的小服务器叫芋头，备份放在外接硬盘上，花了三万二。房租 3200 元，押金 4800 元。",
    "1 月 30 日下午三点半带花卷去安心宠物医院打疫苗，找王立新医生；后天交水费。",
    "Priya waters the tomatoes; the script is /srv/backup/nightly.sh, version 0.16.4. The flight is on 12 March at 07:15.",
)
MATERIAL = Material(parts=tuple((MONDAY, text) for text in SAID), extract="> …\n" + "\n".join(SAID))


@pytest.mark.parametrize(
    ("text", "is_less"),
    [
        ("用户聊了家里的一些事情，做了安排。", True),
        ("The disk cost 32,000.", True),
        ("备份硬盘花了 32,000；房租三千二，押金四千八。30th January at 15:30 打疫苗；12 Mar at 7:15 起飞。", False),
        (
            "Priya waters tomatoes. The disk cost 32 thousand, rent 3,200, deposit 4,800; 1月30日 3:30 pm; 0.16.4; 3月12日 07:15.",
            False,
        ),
    ],
)
def test_figures_count_as_held_in_any_spelling(text, is_less):
    assert says_less(text, MATERIAL) == is_less
