"""The index of memory: cuts files into passages, finds them and scores them (docs/explanation/recall.md)."""
