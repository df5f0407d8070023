"""Disk, files, locks, JSON, clock and errors: what every other package writes and fails with."""
