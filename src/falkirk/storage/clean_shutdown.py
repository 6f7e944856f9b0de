"""`.kafka_cleanshutdown` in a log directory: the broker shut down cleanly, so its logs need no recovery.

Since 3.7 it is JSON with the broker's epoch (KIP-966); before, an empty file.
"""

from dataclasses import dataclass
from typing import Annotated

import msgspec

from falkirk.storage.errors import CorruptFileError

FILE_NAME = ".kafka_cleanshutdown"


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanShutdown:
    """Both None for the older, empty file."""

    version: int | None = None
    broker_epoch: int | None = None


def parse_clean_shutdown(data: bytes, *, file: str = FILE_NAME) -> CleanShutdown:
    """Read the file. Raises CorruptFileError if it is neither empty nor JSON with a broker epoch.

    Kafka treats such a file as a clean shutdown without an epoch.
    """
    if not data:
        return CleanShutdown()
    try:
        content = msgspec.json.decode(data, type=_Content)
    except msgspec.DecodeError as error:
        raise CorruptFileError(f"content is malformed: {error}", offset=0, file=file) from error
    return CleanShutdown(version=content.version, broker_epoch=content.broker_epoch)


def format_clean_shutdown(shutdown: CleanShutdown) -> bytes:
    """Write the file, in the older form if there is no broker epoch."""
    if shutdown.broker_epoch is None:
        return b""
    version = 0 if shutdown.version is None else shutdown.version
    return f'{{"version":{version},"brokerEpoch":{shutdown.broker_epoch}}}'.encode()


class _Content(msgspec.Struct, rename="camel"):
    broker_epoch: Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
    version: Annotated[int, msgspec.Meta(ge=-(1 << 31), lt=1 << 31)] = 0
