"""Search engines behind one protocol: QMD, the built-in index, and the switch between them."""
