"""The fake daemon and the isolated environment of the command line's tests."""

from tests.sidecar.cli.conftest import daemon, environ, folder, run

__all__ = ["daemon", "environ", "folder", "run"]
