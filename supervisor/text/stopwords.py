"""Words that stand in nearly every text and find nothing: Chinese, and English without apostrophes' tails. Our own lists."""

from __future__ import annotations

from typing import Final

CHINESE: Final[frozenset[str]] = frozenset(
    """
    的 了 着 过 地 得 之 是 在 有 和 与 及 或 而 但 但是 可是 不过 然而 而且 并 并且 并不 也 都 就 还 又 再 才 很 太 更
    最 挺 蛮 被 把 给 让 向 往 从 到 对 对于 关于 由 由于 因 因为 所以 因此 如果 要是 假如 虽然 尽管 即使 只要 只有
    除了 以及 以 于 为 为了 为什么 比 跟 同 则 且 若 即 亦 其 某 我 你 您 他 她 它 我们 你们 他们 她们 它们 咱 咱们
    自己 大家 别人 人家 这 那 这个 那个 这些 那些 这里 那里 这儿 那儿 这样 那样 这么 那么 这种 那种 此 该 各 每 什么
    怎么 怎样 怎么样 怎么办 如何 哪 哪个 哪些 哪里 哪儿 谁 几 多少 何 何时 吗 呢 吧 啊 呀 啦 嘛 哦 噢 哈 嗯 唉 诶 喔 哇
    嘿 呵 么 没 没有 不 不是 会 能 能够 可以 可能 应该 要 想 想要 请 请问 一下 一个 一些 一点 一种 有点 有些 所 等 等等
    已 已经 曾 曾经 正在 正 将 刚 刚刚 刚才 仍 仍然 就是 还是 还有 也是 只是 而是 于是 然后 接着 其实 比如 例如 只 仅
    仅仅 真 真的 非常 特别 十分 一样 一直 一定 起来 下来 出来 上 下 里 时候 时 之后 以后 之前 以前 个 们 罢 哎 呗 咯 嘞
    喽 一 说 好 来 去 做 看 多
    """.split()  # noqa: SIM905 - a list to be read, not a literal of quotes
)

ENGLISH: Final[frozenset[str]] = frozenset(
    """
    a about above after again against all also am an and any are aren't as at be because been before being below
    between both but by can can't cannot could couldn't d did didn't do does doesn't doing don't down during each few
    for from further had hadn't has hasn't have haven't having he her here hers herself him himself his how i if in
    into is isn't it its itself just ll m me might mightn't more most must mustn't my myself no nor not now o of off on
    once only or other ought our ours ourselves out over own re s same shall shan't she should shouldn't so some such t
    than that the their theirs them themselves then there these they this those through to too under until up upon us
    ve very was wasn't we were weren't what when where whether which while who whom whose why will with won't would
    wouldn't y you your yours yourself yourselves ain't
    """.split()  # noqa: SIM905 - a list to be read, not a literal of quotes
)
