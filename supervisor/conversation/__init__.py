"""A running conversation: summed up before it outgrows the model's window."""
