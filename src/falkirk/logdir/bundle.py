"""The files that a downgrade leaves beside the new directories: the ledger, and the undo bundle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.logdir.errors import LogDirError
from falkirk.logdir.ledger import LEDGER_FILE
from falkirk.metadata.undo.undo_bundle import BUNDLE_BYTES_MAX, Bundle, BundleFormatError, parse_bundle

if TYPE_CHECKING:
    from pathlib import Path

FILE_NAME: Final = "undo-bundle.zip"
# What a downgrade writes beside the new directories.
RESULT_FILES: Final = (FILE_NAME, LEDGER_FILE)


class BundleError(LogDirError):
    """A file that is no undo bundle, or not one of this cluster."""


def read_bundle(path: Path) -> Bundle:
    """Read a bundle, of an offline downgrade or of a live one. Raises BundleError naming the file and what is wrong."""
    try:
        size = path.stat().st_size
        if size > BUNDLE_BYTES_MAX:
            raise BundleError(f"{path}: {size} bytes, a bundle has at most {BUNDLE_BYTES_MAX}")
        return parse_bundle(path.read_bytes())
    except OSError as error:
        raise BundleError(f"{path}: {error.strerror or error}") from error
    except BundleFormatError as format_error:
        raise BundleError(f"{path}: {format_error}") from format_error
