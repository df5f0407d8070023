"""An abstract, executable statement of the file protocol; it imports nothing of the product."""
