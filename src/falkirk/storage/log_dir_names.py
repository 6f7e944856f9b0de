"""Falkirk's own names beside log directories.

An in-place change creates directories beside a log directory `d0`; none of them is a log directory.
"""

import re
from typing import Final

NEW_SUFFIX: Final = ".falkirk-new"
BACKUP_SUFFIX: Final = ".falkirk-backup"
UNDO_SUFFIX: Final = ".falkirk-undo"
OWN_SUFFIXES: Final = (NEW_SUFFIX, BACKUP_SUFFIX, UNDO_SUFFIX)
_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}")

LIVE_MARKER: Final = "falkirk-live"
"""A file in a directory that was fetched from a running cluster: everything in it is committed."""


def is_plain_name(text: str) -> bool:
    """Return whether a text may be a file's name anywhere: letters, digits, `.` (not first), `_` and `-`."""
    return _PLAIN_NAME.fullmatch(text) is not None
