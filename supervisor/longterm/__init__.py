"""The long-term file: its lines, how they are written and deleted, and the interface that programs of CountBot know."""
