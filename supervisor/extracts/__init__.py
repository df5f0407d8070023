"""What an extract quotes: the sentences of messages that say most, word for word, without a model."""
