"""What is put before the assistant, and the receipt of it."""
