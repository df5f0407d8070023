"""The chat in the terminal: a conversation with the configured model over memory (docs/reference/cli.md)."""
