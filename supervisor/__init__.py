"""recalld: the memory of a long-running local assistant, kept in files a person can read."""
