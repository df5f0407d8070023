"""What a question asks: its terms and its days."""
