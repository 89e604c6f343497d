"""The HTTP gateway on the daemon's own Unix socket."""
