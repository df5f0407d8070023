"""Real clients from npm, with a scripted model on loopback: Claude Code, Codex and Gemini CLI (script/test-clients)."""
