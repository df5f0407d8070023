"""The proxy in front of a model server: memory goes into what a client asks, and what was said is kept (`[serve] upstream`)."""
