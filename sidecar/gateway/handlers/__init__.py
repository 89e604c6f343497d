"""The functions behind the routes. Each reads a request, calls one room of the daemon, and shapes the reply."""
