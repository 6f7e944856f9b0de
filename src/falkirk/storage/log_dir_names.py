"""Names of directories that a change in place puts beside a log directory `d0`; none of them is one itself."""

from typing import Final

NEW_SUFFIX: Final = ".falkirk-new"
BACKUP_SUFFIX: Final = ".falkirk-backup"
UNDO_SUFFIX: Final = ".falkirk-undo"
OWN_SUFFIXES: Final = (NEW_SUFFIX, BACKUP_SUFFIX, UNDO_SUFFIX)
