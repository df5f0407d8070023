"""Doors: each translates between recalld and one outside world, and decides nothing."""
