"""A pool of workers: tasks of many workspaces leave their hosts, are done by whoever is free, and come back as results."""
