"""What an answer says against its material: too little, in whatever spelling, or a copy."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from recalld.supervisor.summaries.material import Material, says_less
from recalld.supervisor.summaries.quality import judge

MONDAY = date(2026, 1, 26)
SAID = (
    "家里的小服务器叫芋头，备份放在外接硬盘上，花了三万二。房租 3200 元，押金 4800 元。",
    "1 月 30 日下午三点半带花卷去安心宠物医院打疫苗，找王立新医生；后天交水费。",
    "Priya waters the tomatoes; the script is /srv/backup/nightly.sh, version 0.16.4. The flight is on 12 March at 07:15.",
)
MATERIAL = Material(said=tuple((MONDAY, text) for text in SAID), extract="> …\n" + "\n".join(SAID))


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


def test_nothing_is_compared_where_little_was_said():
    said = "记住：我对青霉素过敏。"
    assert judge("用户对青霉素过敏。", Material(said=((MONDAY, said),), extract=said)) is None


OF_DAYS = (
    "房租从 3,200 涨到 3,400，押金 4,800 不变，合同签到明年三月底，房东说水管下周来修。",
    "花卷在安心宠物医院打了疫苗，王立新医生说一年后再来；备份硬盘换成了四个 TB 的，花了 620 块。",
    "妈妈坐高铁来住十天，带了糖醋鱼的调料；健身房的年卡两千六，游泳课每周二晚上七点。",
    "护照 2027 年 5 月到期，里斯本的机票订了三月十二号早上的，阳台的浇水器换了新的，八十块。",
    "小林把借的五千还了，年终奖发了一万八，打算先把车险交了，再给豆豆报个游泳班，一期十二节。",
    "体检报告出来了，尿酸 486，医生让少吃海鲜，三个月后复查；公司定了四月搬到高新区，地铁多坐六站。",
)


def of_month(days):
    talk = "早上聊了天气和新闻，又说起楼下那只橘猫最近总在台阶上晒太阳，顺便问了几道菜的做法和周末有什么电影可以看。"
    said = [(MONDAY + timedelta(days=n), f"{day}{talk * 3}") for n, day in enumerate(OF_DAYS)]
    return Material(said=(*said, *((day, text) for (day, _), text in zip(said, days, strict=False))), days=days)


def test_a_month_that_copies_the_summaries_of_its_days_is_a_copy():
    assert judge("\n\n".join(OF_DAYS[:5]), of_month(OF_DAYS)) == "copy"
    assert judge("\n\n".join(OF_DAYS[:2]), of_month(OF_DAYS[:2])) is None  # two days are hardly shorter together
    shorter = "房租涨到 3,400，押金 4,800 不变。花卷打了疫苗，备份硬盘花了 620。妈妈来住十天，游泳课周二晚上七点。护照 2027 年 5 月到期，机票是三月十二号早上的。小林还了五千，年终奖一万八。尿酸 486，少吃海鲜；公司四月搬到高新区。"
    assert judge(shorter, of_month(OF_DAYS)) is None
