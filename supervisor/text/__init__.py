"""What can be said of a text by itself: its words, its language, whether it is small talk, how many tokens it costs."""
