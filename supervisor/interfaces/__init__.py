"""The interfaces: command line, Unix socket, Python, tools for a model, MCP, LlamaIndex."""
