"""What is wrong with a file: which file, which byte, what was expected."""

from collections.abc import Iterator
from contextlib import contextmanager

from falkirk.protocol.errors import RemoteProtocolError


class CorruptFileError(RemoteProtocolError):
    """A file that does not hold what its name promises. `offset` counts bytes from the start of `file`."""

    def __init__(self, reason: str, *, offset: int, file: str) -> None:
        super().__init__(reason, offset=offset, path=file)
        self.file = file

    def __str__(self) -> str:
        """Give one line: file, what was wrong, where."""
        return f"{self.file}: {self.reason} (byte {self.offset})"


class MalformedVotersError(Exception):
    """Configured voters that cannot be read, as one line that says where they are configured."""


class LogDirFailedError(Exception):
    """A log directory that is, or is now, offline."""

    def __init__(self, log_dir: str, reason: str) -> None:
        super().__init__(f"{log_dir}: {reason}")
        self.log_dir = log_dir
        self.reason = reason


class InconsistentTopicIdError(Exception):
    """A log that belongs to another topic of the same name, as one line."""


@contextmanager
def errors_name(file: str) -> Iterator[None]:
    """Name `file` in every RemoteProtocolError that is raised inside; whoever knows the full path wraps last."""
    try:
        yield
    except RemoteProtocolError as error:
        raise CorruptFileError(error.reason, offset=error.offset, file=file) from error
