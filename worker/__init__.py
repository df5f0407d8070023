"""The worker process: it makes summaries from tasks in files, and never touches history or memory."""
