"""A small memory in both languages, and ways to have it found by meaning."""

from recalld.supervisor.workspace import Workspace
from tests.world import WITHOUT_MODEL, message

CAR = "上个月买了一辆轿车，花了十二万。"
LEAK = "The roof of the shed leaks again."
SAID = [
    message(str(n), f"2026-01-29T{9 + n // 4:02}:{n % 4}0", text)
    for n, text in enumerate(
        [
            CAR, "轿车的保险下个月到期。", "上个月买了一个书架，花了三百。", "孩子发烧了，医生说多喝水，买药花了八十。", "密码是 hunter2-demo，别忘了。", "周末去爬山，带上登山杖。",
            "妈妈做的红烧肉最好吃。", LEAK, "Grandma knits a scarf for every winter.", "阳台上的茉莉花开了。", "路由器换成了新的，信号好多了。", "哈哈好的",
        ]
    )
]  # fmt: skip
#: Shares words with what was said; shares none.
QUESTION, OTHER_WORDS = "买汽车花了多少", "那部汽车怎么样"


def filled(world, more=""):
    world.reopen(WITHOUT_MODEL + more)
    world.fill(SAID)
    return world


def supervise(world):
    """Have the workspace opened as a supervisor opens it."""
    world.ws = Workspace(world.root, world.ws.config, world.files, world.events, lasting=True)
    return world


def texts(found):
    return [hit.unit.text for hit in found.hits]


def by_meaning(found):
    return [hit.unit.text for hit in found.hits if hit.because == ("meaning",)]
