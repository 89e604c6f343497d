"""The daemon under a service manager: the protocols that it speaks, and the files that systemd and launchd read."""
