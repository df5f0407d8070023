"""Runs recalld: daemon, round, threads, workers; and checks it: status, fsck."""
