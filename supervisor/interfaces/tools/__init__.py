"""The tools by which an assistant reads its memory and writes to it (docs/reference/tools.md)."""
