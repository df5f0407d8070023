"""recalld answers what waits in inbox.json (docs/reference/protocol.md, 7.8)."""
