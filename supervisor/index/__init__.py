"""The index of memory: from files to units that are found and scored (docs/explanation/recall.md)."""
