"""What `make bench` measures: one module for each question, see `__main__`."""

import os

# Set before numpy is loaded: its exact product is one of the peers, and the engine's own runs on one thread, too.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
