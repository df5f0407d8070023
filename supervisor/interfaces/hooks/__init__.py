"""The hooks of clients: what Claude Code, Codex and others run before a question, after an answer and when a session begins."""
