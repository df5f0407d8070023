"""The rules, pure: values and a moment in, values out. No I/O, no clock, no random, no logging."""
