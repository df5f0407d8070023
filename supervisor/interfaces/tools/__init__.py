"""The tools by which an assistant looks into its memory and writes to it (docs/reference/tools.md)."""
