"""The tools of an assistant, through each door."""
