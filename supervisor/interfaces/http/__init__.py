"""HTTP next to the socket, while `[serve] port` is set: REST, MCP, figures, and what the page is mounted on."""
