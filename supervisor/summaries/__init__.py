"""Which summaries are due, their tasks, the judgement of results, retries, and what the model costs."""
