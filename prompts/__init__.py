"""The wording that models are given, as data files; a workspace's own `prompts/` folder wins over the file of that name."""
