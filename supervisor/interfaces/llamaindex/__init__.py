"""LlamaIndex: its chat memory, chat store and memory block over recalld; `recalld.llamaindex` has the names."""
