"""Errors of files: which file, which byte, what was expected."""

from collections.abc import Iterator
from contextlib import contextmanager

from falkirk.protocol.errors import RemoteProtocolError


class CorruptFileError(RemoteProtocolError):
    """A file whose content is not what its name promises. `offset` counts bytes from the start of `file`."""

    def __init__(self, reason: str, *, offset: int, file: str) -> None:
        super().__init__(reason, offset=offset, path=file)
        self.file = file

    def __str__(self) -> str:
        """Return one line: file, reason, byte."""
        return f"{self.file}: {self.reason} (byte {self.offset})"


class MalformedVotersError(Exception):
    """Configured voters that cannot be read, as one line that names the configuration."""


class LogDirFailedError(Exception):
    """A log directory that is offline, or has just failed."""

    def __init__(self, log_dir: str, reason: str) -> None:
        super().__init__(f"{log_dir}: {reason}")
        self.log_dir = log_dir
        self.reason = reason


class InconsistentTopicIdError(Exception):
    """A log that belongs to another topic of the same name, as one line."""


@contextmanager
def errors_name(file: str) -> Iterator[None]:
    """Name `file` in every RemoteProtocolError raised inside; a caller that knows the full path wraps last."""
    try:
        yield
    except RemoteProtocolError as error:
        raise CorruptFileError(error.reason, offset=error.offset, file=file) from error
