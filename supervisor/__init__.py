"""`recalld.supervisor`: what files the conversation, and finds in memory what a turn needs."""
