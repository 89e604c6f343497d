"""The daemon: configuration, lifecycle, gateway and command line."""

__version__ = "0.1.0"
