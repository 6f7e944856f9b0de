"""The files that a downgrade leaves for going back: the undo bundle (`metadata.undo_bundle`), and the ledger's name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.logdir.errors import LogDirError
from falkirk.metadata.undo_bundle import Bundle, BundleFormatError, format_bundle, parse_bundle

if TYPE_CHECKING:
    from pathlib import Path

FILE_NAME: Final = "undo-bundle.zip"
LEDGER_FILE: Final = "ledger.json"
# What a downgrade writes beside the new directories.
RESULT_FILES: Final = (FILE_NAME, LEDGER_FILE)


class BundleError(LogDirError):
    """A file that is no undo bundle, or not one of this cluster."""


def write_bundle(bundle: Bundle, path: Path) -> None:
    """Write a new file."""
    with path.open("xb") as file:
        file.write(format_bundle(bundle))


def read_bundle(path: Path) -> Bundle:
    """Read a bundle, of an offline downgrade or of a live one. Raises BundleError naming the file and what is wrong."""
    try:
        return parse_bundle(path.read_bytes())
    except OSError as error:
        raise BundleError(f"{path}: {error.strerror or error}") from error
    except BundleFormatError as error:
        raise BundleError(f"{path}: {error}") from error
