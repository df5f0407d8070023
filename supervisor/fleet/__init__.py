"""Many workspaces on one host: a parent process, shards that look after workspaces, and how a request finds its shard."""
