"""Names that are ours around log directories.

A change in place puts directories beside a log directory `d0`; none of them is one itself.
"""

from typing import Final

NEW_SUFFIX: Final = ".falkirk-new"
BACKUP_SUFFIX: Final = ".falkirk-backup"
UNDO_SUFFIX: Final = ".falkirk-undo"
OWN_SUFFIXES: Final = (NEW_SUFFIX, BACKUP_SUFFIX, UNDO_SUFFIX)

LIVE_MARKER: Final = "falkirk-live"
"""Stands in a directory that was fetched from a running cluster: what is in it is committed."""
