"""Connect clients of this machine with a workspace: what is written into their settings, and taken out again."""
