"""The texts of recalld in Chinese, a module a subject."""
