"""An MCP server over standard input and output that hands its calls to the daemon's socket.

Whoever imports `sidecar.mcp.server` pays a second and 64 MB for the SDK, so nothing but the verb `mcp` does.
"""
