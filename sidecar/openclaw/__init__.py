"""OpenClaw as the host of our plugin: putting it there, proving that it is in use, taking it away."""
