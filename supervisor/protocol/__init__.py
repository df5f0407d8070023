"""What supervisor and worker agree on: files, formats, paths, locks, errors, configuration. Nothing here decides anything."""
