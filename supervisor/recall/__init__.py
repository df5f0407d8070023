"""The best passages for a question, reranked; exact lines; questions that recall asks itself."""
