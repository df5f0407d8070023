"""Opens workspaces and runs them: rounds, background threads, workers."""
