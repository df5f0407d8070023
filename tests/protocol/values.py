"""Values that other programs may put into a file: any JSON, any Unicode, messages of any shape."""

import json

from hypothesis import strategies as st

#: Any text that JSON can hold (two surrogates that make a pair are one character there), lone surrogates, control characters and what Markdown takes for its own among it.
TEXT = (
    st.text()
    | st.text(st.characters(categories=["Cs", "Cc", "Cf", "Zl", "Zp", "Zs"]))
    | st.lists(
        st.sampled_from(
            [
                *("花生过敏", "\n", "\r\n", "\r", "```", "````", "~~~", "    ", "---", "<!-- {", "-->", "**09:02 user**"),
                *("**09:02 用户**", "```\nls\n```", "<div>", "json", " ", "\t", "# ", "- ", "> ", "\ufeff", "\x00", "\x85"),
                *("\u2028", "�", "😀"),
            ]
        ),
        max_size=8,
    ).map("".join)
).map(lambda text: json.loads(json.dumps(text)))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.dictionaries(st.sampled_from(["session", "channel", "chat", "tool_calls", "名字"]) | TEXT, JSON, max_size=4)
