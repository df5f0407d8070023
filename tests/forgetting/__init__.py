"""Taking words back."""
