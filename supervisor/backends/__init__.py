"""What may score beside the words of a question (docs/recall.md, "Backends")."""
