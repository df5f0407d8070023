"""Anthropic's memory tool against the file-system tool of the official SDK: same commands, same answers, same files."""
