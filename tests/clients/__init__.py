"""Real clients from npm, with a scripted model on loopback: Claude Code and Codex (script/test-clients)."""
