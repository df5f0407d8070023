"""Properties of a text by itself: its tokens, its language, whether it is small talk, what in it is secret."""
