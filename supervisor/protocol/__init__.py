"""What supervisor and worker agree on: configuration, paths, formats of files, the queue. Nothing here decides anything."""
