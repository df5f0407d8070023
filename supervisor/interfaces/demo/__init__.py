"""`recalld demo`: a made-up year, in English and in Chinese, in a workspace that lasts as long as the command."""
