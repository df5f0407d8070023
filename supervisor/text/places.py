"""
Places that the dictionary of common English words knows, with their Chinese names: in a summary they are names like others.

Left out are those that are also words, or names of people: Turkey, China, Jordan, Nice, Georgia.
"""

from __future__ import annotations

from typing import Final

#: By the Latin name in small letters: the Chinese ones, in simplified characters.
_CHINESE: Final = {
    "amsterdam": ("阿姆斯特丹",),
    "ankara": ("安卡拉",),
    "argentina": ("阿根廷",),
    "athens": ("雅典",),
    "australia": (
        "澳大利亚",
        "澳洲",
    ),
    "austria": ("奥地利",),
    "bangkok": ("曼谷",),
    "barcelona": ("巴塞罗那",),
    "beijing": ("北京",),
    "belgium": ("比利时",),
    "berlin": ("柏林",),
    "boston": ("波士顿",),
    "brazil": ("巴西",),
    "brussels": ("布鲁塞尔",),
    "budapest": ("布达佩斯",),
    "cairo": ("开罗",),
    "california": (
        "加利福尼亚",
        "加州",
    ),
    "cambridge": ("剑桥",),
    "canada": ("加拿大",),
    "chicago": ("芝加哥",),
    "chile": ("智利",),
    "copenhagen": ("哥本哈根",),
    "cuba": ("古巴",),
    "denmark": ("丹麦",),
    "dubai": ("迪拜",),
    "dublin": ("都柏林",),
    "edinburgh": ("爱丁堡",),
    "egypt": ("埃及",),
    "england": (
        "英格兰",
        "英国",
    ),
    "europe": ("欧洲",),
    "finland": ("芬兰",),
    "florence": ("佛罗伦萨",),
    "florida": ("佛罗里达",),
    "france": ("法国",),
    "frankfurt": ("法兰克福",),
    "geneva": ("日内瓦",),
    "germany": ("德国",),
    "greece": ("希腊",),
    "guangzhou": ("广州",),
    "hamburg": ("汉堡",),
    "hangzhou": ("杭州",),
    "hawaii": ("夏威夷",),
    "houston": ("休斯敦",),
    "hungary": ("匈牙利",),
    "iceland": ("冰岛",),
    "india": ("印度",),
    "indonesia": (
        "印度尼西亚",
        "印尼",
    ),
    "iran": ("伊朗",),
    "iraq": ("伊拉克",),
    "ireland": ("爱尔兰",),
    "israel": ("以色列",),
    "istanbul": ("伊斯坦布尔",),
    "italy": ("意大利",),
    "japan": ("日本",),
    "kenya": ("肯尼亚",),
    "korea": (
        "韩国",
        "朝鲜",
    ),
    "kyoto": ("京都",),
    "lisbon": ("里斯本",),
    "london": ("伦敦",),
    "lyon": ("里昂",),
    "madrid": ("马德里",),
    "malaysia": ("马来西亚",),
    "manchester": ("曼彻斯特",),
    "melbourne": ("墨尔本",),
    "mexico": ("墨西哥",),
    "miami": ("迈阿密",),
    "milan": ("米兰",),
    "montreal": ("蒙特利尔",),
    "morocco": ("摩洛哥",),
    "moscow": ("莫斯科",),
    "munich": ("慕尼黑",),
    "nanjing": ("南京",),
    "netherlands": ("荷兰",),
    "norway": ("挪威",),
    "osaka": ("大阪",),
    "oslo": ("奥斯陆",),
    "oxford": ("牛津",),
    "paris": ("巴黎",),
    "philippines": ("菲律宾",),
    "poland": ("波兰",),
    "portugal": ("葡萄牙",),
    "prague": ("布拉格",),
    "rome": ("罗马",),
    "russia": ("俄罗斯",),
    "scotland": ("苏格兰",),
    "seattle": ("西雅图",),
    "seoul": ("首尔",),
    "shanghai": ("上海",),
    "shenzhen": ("深圳",),
    "singapore": ("新加坡",),
    "spain": ("西班牙",),
    "stockholm": ("斯德哥尔摩",),
    "sweden": ("瑞典",),
    "switzerland": ("瑞士",),
    "sydney": ("悉尼",),
    "taiwan": ("台湾",),
    "texas": (
        "得克萨斯",
        "德州",
    ),
    "thailand": ("泰国",),
    "tokyo": ("东京",),
    "toronto": ("多伦多",),
    "ukraine": ("乌克兰",),
    "vancouver": ("温哥华",),
    "venice": ("威尼斯",),
    "vienna": ("维也纳",),
    "vietnam": ("越南",),
    "warsaw": ("华沙",),
    "washington": ("华盛顿",),
    "york": (
        "约克",
        "纽约",
    ),
    "zurich": ("苏黎世",),
}
_LATIN: Final = {chinese: latin for latin, names in _CHINESE.items() for chinese in names}


def is_latin_place(word: str) -> bool:
    """
    Return whether a word is a place that many people know.

    >>> is_latin_place("Berlin"), is_latin_place("Turkey")
    (True, False)
    """
    return word.casefold() in _CHINESE


def other_names(place: str) -> tuple[str, ...]:
    """
    Return the names of a place in the other language, in small letters.

    >>> other_names("Berlin"), other_names("柏林"), other_names("小屋")
    (('柏林',), ('berlin',), ())
    """
    if place in _LATIN:
        return (_LATIN[place],)
    return _CHINESE.get(place.casefold(), ())
