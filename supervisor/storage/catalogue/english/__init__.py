"""The texts of recalld in English, a module a subject."""
