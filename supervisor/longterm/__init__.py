"""The long-term file: its lines, how they are written and deleted, and the face that programs of CountBot know."""
