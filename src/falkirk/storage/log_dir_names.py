"""Falkirk's own names beside log directories.

An in-place change creates directories beside a log directory `d0`; none of them is a log directory.
"""

from typing import Final

NEW_SUFFIX: Final = ".falkirk-new"
BACKUP_SUFFIX: Final = ".falkirk-backup"
UNDO_SUFFIX: Final = ".falkirk-undo"
OWN_SUFFIXES: Final = (NEW_SUFFIX, BACKUP_SUFFIX, UNDO_SUFFIX)

LIVE_MARKER: Final = "falkirk-live"
"""A file in a directory that was fetched from a running cluster: everything in it is committed."""
