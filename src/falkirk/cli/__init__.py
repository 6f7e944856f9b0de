"""The command line: a module or a folder for each command; text or one JSON document; fixed exit codes."""

from falkirk.cli.application import main

__all__ = ["main"]
