"""Mail addresses, phone numbers and postal addresses count as secrets where it is asked for, and ordinary text has none."""

from __future__ import annotations

import pytest

from recalld.supervisor.text.marks import marked
from recalld.supervisor.text.personal import PERSONAL

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
#: Sixty sentences in which nothing is meant, though much of it looks like it.
ORDINARY = """
The meeting moved to 2026-11-26 at 14:30.
Order 114-3941689-8332211 arrives on Friday.
The server listens on 127.0.0.1:8080.
Version 3.11.7 works, 3.12.1 does not.
She ran 10 km in 52:31 last Sunday.
In 2026 Wall Street fell by 3 percent.
We need 12 Large Boxes for the move.
Turn left at Elm Street and walk on.
It has 16 GB of memory and costs 1,299.00 dollars.
The ISBN is 978-3-16-148410-0.
Ticket #4155552671 is closed.
The timestamp is 1767225600000.
Row 42, column 7 has the wrong total.
Room 415 is free until 5.
My flight LH 2020 leaves from gate B12.
He paid 2 500 000 yen for it.
Use git@github.com to clone the project.
The decorator is @property, not @cached.
Pi is about 3.14159265358979.
Call 911 only in an emergency.
Bus 38 stops in front of the school.
The score was 21-17, 19-21, 21-15.
Chapter 12 Road to Nowhere is the best.
Save the file as report_2026-11-26.txt.
She lives somewhere near the river.
The parts cost 12.50, 8.75 and 3.20.
Commit 4f9a8b7c fixed the parser.
Between 1990 and 2010 the town doubled.
Mix 200 g of flour with 3 eggs.
The phone rang twice, nobody answered.
会议改到2026年11月26日下午三点。
订单号 13812345678 已发货。
版本号是 3.11.7，先别升级。
地铁2号线在中山路站换乘。
从中山路2号口出来就是书店。
他跑了10公里，用了52分31秒。
这本书第128页有个错字。
房间在3楼，靠近电梯。
我们小区停水了。
他们在3号楼开会。
这条路走到头左转。
手机没电了，晚点打给你。
买了12个苹果，花了38元。
端口是8443，备份在凌晨4点15分。
走路15分钟就到公司。
这件事跟我说过三次了。
发票金额是1299.00元。
中国银行明天不上班。
高铁G102次9点发车。
运单编号：13912345678，明天到。
今年南京路上人特别多。
第五大道上的店都关了。
他排在第12号，还要等。
密度大约是每平方公里6300人。
一号会议室被占用了。
你把地址发我一下。
把邮件转给小李就行。
这台机器有16GB内存。
大街上到处是桂花香。
游泳馆周三闭馆，周四开。
"""
LINES = ORDINARY.strip().splitlines()


@pytest.mark.parametrize("text", MARKED)
def test_marks_stand_in_the_place_of_personal_data(text: str) -> None:
    after = marked(text, PERSONAL)
    assert after == MARKED[text]
    assert marked(after, PERSONAL) == after
    assert marked(text) == text
