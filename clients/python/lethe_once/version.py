"""The version, for who builds the package too: it imports nothing."""

__version__ = "0.1.0"
