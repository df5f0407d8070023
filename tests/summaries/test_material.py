"""What an answer says against its material: what is new, what is the same in other words, what is too little, what is copied."""

from __future__ import annotations

from datetime import date

import pytest

from recalld.supervisor.summaries.material import Material, new_places
from recalld.supervisor.summaries.quality import judge

MONDAY = date(2026, 1, 26)
SAID = (
    "家里的小服务器叫芋头，备份放在外接硬盘上，花了三万二。房租 3200 元，押金 4800 元。",
    "周五下午三点半带花卷去安心宠物医院打疫苗，找王立新医生。后天交水费，三天后去里斯本，住两周。",
    "Priya waters the tomatoes; the script is /srv/backup/nightly.sh, version 0.16.4. The flight is on 12 March at 07:15.",
)
MATERIAL = Material(said=tuple((MONDAY, text) for text in SAID))


def new(text: str) -> list[str]:
    return [text[place.start : place.end].strip() for place in new_places(text, MATERIAL)[0]]


@pytest.mark.parametrize(
    "text",
    [
        "备份的硬盘花了 32,000。",
        "The disk cost thirty-two thousand.",
        "房租和押金一共 8000 元。",
        "The deposit is 1,600 more than the rent.",
        "1 月 30 日 15:30 打疫苗。",
        "On Friday, 30 January, at half past three.",
        "Dr Wang Lixin vaccinates Huajuan.",
        "1月28日交水费；1 月 29 日去里斯本，住 14 天。",
        "住半个月左右，花了三万多。",
        "脚本是 `/srv/backup/nightly.sh`，0.16.4 版。",
        "三件事都在周一说了。",
        "约 3,000 元的房租。",
        "Water is paid first, then two weeks in Lisbon.",
        "The flight leaves on March 12th at 7:15 am; Priya waters.",
    ],
)
def test_new_places_are_none_where_the_same_is_said_in_other_words(text):
    assert new(text) == []


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("硬盘花了 33,000 元。", ["33,000 元"]),
        ("房租 3200 美元。", ["3200 美元"]),
        ("1 月 31 日打疫苗。", ["1 月 31 日"]),
        ("周三打疫苗，下午四点。", ["下午四点"]),
        ("Zdenka waters the tomatoes.", ["Zdenka"]),
        ("脚本是 `/srv/backup/weekly.sh`。", ["/srv/backup/weekly.sh"]),
        ("版本 0.16.5。", ["0.16.5"]),
        ("The script was moved to Berlin.", ["Berlin"]),
        ("去上海，找吴德海。", ["上海", "吴德海"]),
    ],
)
def test_new_places_are_what_the_material_does_not_have(text, places):
    assert new(text) == places


def test_judge_marks_few_new_places_in_the_language_of_the_text():
    verdict = judge("小服务器芋头的备份在外接硬盘上，花了三万二；房租 3200 元，押金 5000 元；周五下午三点半打疫苗。", MATERIAL)
    assert (verdict.reason, verdict.unverified) == (None, 1)
    assert "押金 5000 元（未核实）" in verdict.text


def test_judge_refuses_an_answer_with_many_new_places():
    assert judge("服务器花了 99 元，房租 4100 元，押金 5000 元，1 月 31 日打疫苗，去上海。", MATERIAL).reason == "new"
