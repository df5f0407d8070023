"""What the processes around a workspace agree on: files, formats, names, times. Nothing here decides anything."""
