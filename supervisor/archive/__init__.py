"""From history.json to a dated file: take messages in, identify, journal, write, flag, trim and restore them."""
