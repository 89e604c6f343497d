"""`python -m sidecar` is the command `qmd-sidecar`."""

from sidecar.cli import main

main()
