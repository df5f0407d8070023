"""The HTTP service: what it serves, and what it refuses."""
