"""The command line: one module per command group, text or one JSON document, exit codes that scripts can trust."""

from falkirk.cli.application import main

__all__ = ["main"]
