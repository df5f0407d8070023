"""The ways in: command line, Unix socket, Python."""
