"""What is wrong, and what mends it: status, doctor, fsck; backup, the nightly check, systemd."""
