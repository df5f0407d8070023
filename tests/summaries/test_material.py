"""What an answer says against its material: what is new, what is the same in other words, what is too little, what is copied."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from recalld.supervisor.summaries.debts import swaps_debts
from recalld.supervisor.summaries.material import Material, new_places
from recalld.supervisor.summaries.quality import judge
from recalld.supervisor.text.language import language_of

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


@pytest.mark.parametrize(
    ("said", "text", "places"),
    [
        ("备份改到凌晨。", "李娜、王强、刘洋和张伟去了。", ["李娜", "王强", "刘洋", "张伟"]),
        ("备份改到凌晨。", "很安静，顾客常来，毛巾齐全，老陈付了钱，小蒋去了，工人上门。", []),
        ("I hope you mark the bill.", "They met Grace, Mark, Rose, Bill, Hope and Joy.", ["Grace", "Mark", "Rose", "Bill", "Hope", "Joy"]),
        ("Grace and Mark live in the Old Chapel.", "In the Old Chapel live Mark, Grace.", []),
        ("搬家从 680 块涨到 760。", "搬家贵了八十。", []),
        ("面粉每袋 98 元，现在 106。", "面粉涨了八块。", []),
        ("Half of the 640 euros is due, the rent is 900 euros.", "320 euros are due; the rent of a quarter is 2,700 euros.", []),
        ("药每次 5 毫升，一天两次。", "一天 10 毫升。", []),
        ("孩子两岁半了。", "孩子 30 个月。", []),
        ("The train leaves at noon.", "The train leaves at 12:00.", []),
        ("火车中午开。", "火车 12:00 开。", []),
        ("He offered 1,200 for it.", "He offered 1,200,000.", ["1,200,000"]),
        ("闺女陈静来住，对花生过敏的是孙子。", "孙女陈静来住，孙子过敏。", ["孙女"]),
        ("老伴查出糖尿病，闺女说的。", "The user's wife has diabetes, says their daughter.", []),
        ("Site change every three days, said Arjun's nurse.", "The user's sister changes the site every three days.", ["sister"]),
        ("My mum and the kid come on Friday.", "The user's mother and son come.", []),
        ("Grandad and nan drive, gran flies.", "The user's grandfather, grandmother and 爷爷 drive.", []),
        ("My bro and sis rang, the baby slept.", "The brother and sister rang, 弟弟也, the daughter slept.", []),
        ("Siblings rang.", "弟弟和妹妹来电话，the brother too.", []),
        ("我先生在家带宝宝。", "用户的丈夫在家带儿子。", []),
        ("Hubby and the missus next door.", "The user's husband.", []),
        ("张先生来了。", "丈夫来了。", ["丈夫"]),
        ("下个月搬家。", "2 月搬家。", []),
        ("下个月搬家。", "2 月 7 日搬家。", ["2 月 7 日"]),
        ("It ends at the end of the month.", "It ends on 31 January.", []),
        ("We move next month.", "On 7 February they move.", ["7 February"]),
    ],
)  # fmt: skip
def test_new_places_are_what_one_text_does_not_say(said, text, places):
    material = Material(said=((MONDAY, said),), language=language_of(said))
    assert [text[place.start : place.end].strip() for place in new_places(text, material)[0]] == places


#: A day in each language, and things that an answer may say of it.
TOLD_ZH = (
    "林若兰医生说住院 44 分钟路程以外不收，先还两万，一共三万二。",
    "周六去牛王庙看房，钱经理带 12 份合同来，每份 240 元。养三个月。",
)
TOLD_EN = (
    "Ingrid was down for 44 minutes, it cost 30,000 kroner. Marlene stays for three months, until 1 May.",
    "Marlene brings three cakes on Saturday; she bakes at 9.",
)


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("林若云医生说不收。", "林若云"),
        ("胡主任说不收。", "胡主任"),
        ("王建国带合同。", "王建国"),
        ("刘美玲带合同。", "刘美玲"),
        ("林志强来看房。", "林志强"),
        ("黄晓明来看房。", "黄晓明"),
        ("去春熙路看房。", "春熙路"),
        ("去徐家汇看房。", "徐家汇"),
        ("飞多伦多。", "多伦多"),
        ("去拉萨。", "拉萨"),
        ("44 小时路程。", "44 小时"),
        ("先还两千。", "两千"),
        ("一共三万五。", "三万五"),
        ("周日去看房。", "周日"),
        ("每份 240 美元。", "240 美元"),
        ("养三周。", "三周"),
        ("林医生和钱经理都在，4 月 25 日（周六）去看房，44 分钟，三万二，两万。", ""),
        ("十二份合同 2,880 元，每份 240。", ""),
        ("Peter was down.", "Peter"),
        ("Susan bakes.", "Susan"),
        ("Glasgow was down.", "Glasgow"),
        ("Grace bakes.", "Grace"),
        ("Marion brings cakes.", "Marion"),
        ("It was down for 44 hours.", "44 hours"),
        ("It cost 30,000 dollars.", "30,000 dollars"),
        ("It cost ninety thousand.", "ninety thousand"),
        ("Marlene stays three weeks.", "three weeks"),
        ("Marlene brings seven cakes.", "seven"),
        ("She stays until May, on Sunday she bakes.", "Sunday"),
        ("She stays until August.", "August"),
        ("She stays until Thursday 1 May.", "Thursday"),
        ("On Saturday Ingrid and Marlene bake three cakes at nine; 44 minutes, thirty thousand kroner, until May.", ""),
    ],
)  # fmt: skip
def test_new_places_are_one_swapped_name_place_unit_number_or_weekday(text, new):
    told = TOLD_EN if text.isascii() else TOLD_ZH
    material = Material(said=tuple((date(2026, 4, 22), one) for one in told), language=language_of(text))
    assert [text[one.start : one.end].strip() for one in new_places(text, material)[0]] == ([new] if new else [])


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("I take it for two months.", "Until March."),
        ("Three a day for 15 days.", "45 doses."),
        ("抗生素一天三次，吃 15 天。", "45 次。"),
        ("门诊改到 2 月 12 日。", "门诊 2.12。"),
        ("The contract ends 14/02.", "Until February."),
        ("From 74 to 49 minutes.", "25 minutes less."),
        ("8 节课共 1,600。", "一节 200。"),
        ("The trips are from 5 to 7 May.", "The first is on May 5."),
    ],
)
def test_new_places_are_none_where_a_number_or_a_day_was_worked_out(said, text):
    assert new_places(text, Material(said=((MONDAY, said),), language=language_of(said)))[0] == []


@pytest.mark.parametrize(
    "said", [("房租 3200 元。", "押金 4800 元。"), ("The rent is 3,200 euros.", "The deposit is 4,800 euros.")]
)
def test_new_places_add_up_numbers_of_one_day_alone(said):
    total = "一共 8000 元。" if "元" in said[0] else "8,000 euros in all."
    for days, places in ((0, 0), (1, 1)):
        material = Material(said=tuple((MONDAY + n * timedelta(days=days), text) for n, text in enumerate(said)))
        assert len(new_places(total, material)[0]) == places


def test_judge_marks_few_new_places_in_the_language_of_the_text():
    verdict = judge("小服务器芋头的备份在外接硬盘上，花了三万二；房租 3200 元，押金 5000 元；周五下午三点半打疫苗。", MATERIAL)
    assert (verdict.reason, verdict.unverified) == (None, 1)
    assert "押金 5000 元（未核实）" in verdict.text


def test_judge_refuses_an_answer_with_many_new_places():
    assert judge("服务器花了 99 元，房租 4100 元，押金 5000 元，1 月 31 日打疫苗，去上海。", MATERIAL).reason == "new"


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("记住：我对青霉素过敏。护照 2027 年 5 月到期。", "用户得了肺癌，8 月 7 日搬去上海，欠吴德海 99,000。"),
        (
            "Remember: I am allergic to penicillin. My passport ends in May 2027.",
            "She moves to Berlin on 7 August and owes Odalys 99,000.",
        ),
    ],
    ids=["zh", "en"],
)
def test_judge_compares_places_however_little_was_said(said, answer):
    material = Material(said=((MONDAY, said),))
    assert not material.says_enough
    assert judge(answer, material).reason == "new"
    assert judge(said, material).reason is None


OFFERS = "The flat was valued at 285 to 295, we list it at 290,000; the gym is 45 a month. 面粉一袋 104 元，押金 4,600。"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Valued at 285,000 to £295,000 and listed at 290,000; the gym is 45.", None),
        ("The gym is 45,000 a month.", "new"),
        ("The gym is 450 a month.", "new"),
        ("The gym is 4.50 a month.", "new"),
        ("Listed at 2.9 million.", "new"),
        ("面粉一袋 104 块，押金四千六。", None),
        ("面粉一袋 10.4 元。", "new"),
        ("押金 46 万。", "new"),
    ],
)
def test_a_number_with_noughts_too_many_or_too_few_is_refused(text, reason):
    assert judge(text, Material(said=((MONDAY, OFFERS),), language=language_of(text))).reason == reason


@pytest.mark.parametrize(
    ("said", "right", "swapped"),
    [
        ("My brother Callum still owes me £1,200.", "Callum owes Hannah £1,200.", "Hannah owes her brother Callum £1,200."),
        ("Derek's lending me his butt.", "Derek lends Walter his butt.", "Walter is lending Derek his butt."),
        ("Anna lent me 50 quid.", "The user borrowed 50 from Anna.", "Anna borrowed 50 from the user."),
        ("Dad's paid me back.", "Dad repaid the user.", "The user paid back Dad."),
        ("我哥许安去年借了我 18,000 没还呢。", "许安欠用户 18,000。", "用户去年向哥哥许安借了 18,000。"),
        ("医药费是小罗垫的，我转给他一半。", "小罗垫的，用户转给他一半。", "医药费是用户替小罗垫的。"),
        ("小陈问我借五千，我给了。", "小陈向用户借了五千。", "用户向小陈借了五千。"),
        ("我欠老张三百块。", "用户还欠老张三百。", "老张欠用户三百。"),
        ("房东退了押金，妹妹欠我 800。", "妹妹欠用户 800。", "用户欠妹妹 800。"),
    ],
)
def test_who_owes_whom_is_told_as_it_was_said(said, right, swapped):
    assert [swaps_debts(text, said) for text in (right, swapped)] == [False, True]


@pytest.mark.parametrize(
    ("said", "right"),
    [
        ("Sam owes me £20. He lent Hannah a book.", "Sam lent Hannah a book; the £20 is open."),
        ("老周还欠我五百。他把电钻借我用两天。", "老周借给我电钻。"),
    ],
)
def test_two_debts_of_one_person_are_not_one(said, right):
    assert not swaps_debts(right, said)


@pytest.mark.parametrize(
    ("said", "right"),
    [
        ("5月12日买了油漆51元，木头42元，钉子27元。", "一共花了120元。"),
        ("On 12 May paint was £51, wood £42, nails £27.", "All in all £120."),
    ],
)
def test_a_sum_is_no_day_with_another_nought(said, right):
    assert judge(right, Material(said=((MONDAY, said),), language=language_of(right))).reason != "new"


def test_a_transfer_says_nothing_of_who_owes():
    assert not swaps_debts("小李欠用户五千。", "我把五千转给小李了，下个月还。")


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
    assert judge("\n\n".join(OF_DAYS[:5]), of_month(OF_DAYS)).reason == "copy"
    assert judge("\n\n".join(OF_DAYS[:2]), of_month(OF_DAYS[:2])).reason is None  # two days are hardly shorter together
    shorter = "房租涨到 3,400，押金 4,800 不变。花卷打了疫苗，备份硬盘花了 620。妈妈来住十天，游泳课周二晚上七点。护照 2027 年 5 月到期，机票是三月十二号早上的。小林还了五千，年终奖一万八。尿酸 486，少吃海鲜；公司四月搬到高新区。"
    assert judge(shorter, of_month(OF_DAYS)).reason is None


@pytest.mark.parametrize(
    ("said", "told"),
    [("面粉一袋 104，刘姐送货上门", "面粉一袋 1,040 元，刘姐送货。"), ("Raf wants 180 for the half day", "Raf wants £1,800.")],
)
def test_a_number_with_another_nought_is_known_without_its_unit(said, told):
    assert judge(told, Material(said=((MONDAY, said),), language=language_of(said))).reason == "new"
