"""Answers of recalld itself: the rules, the file turn, a look further."""
