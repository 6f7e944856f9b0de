"""Messages to bytes and back: compiled per (message, version, layout) on first use, kept for good.

`layout` chooses among the layouts of a version that changed without a bump; None is the last one, and right for all
messages but the few in `versions.layouts`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from falkirk.protocol.codec import decoder_compiler, encoder_compiler, written_codecs
from falkirk.protocol.codec.decoder_compiler import UNLIMITED
from falkirk.protocol.codec.layout import message_layout
from falkirk.protocol.codec.reference import decode_reference, encode_reference
from falkirk.protocol.errors import RemoteProtocolError, TooManyElementsError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from falkirk.protocol.schema import WireMessage

M = TypeVar("M", bound="WireMessage")
# A larger request that does not parse is not read again to find out where.
_REFERENCE_BYTES_MAX: Final = 16 * 1024
# What clients send, who may not be trusted.
_OF_CLIENTS: Final = ("request", "header")
_Key = tuple[type["WireMessage"], int, int | None]
_DECODERS: dict[_Key, Callable[[bytes, int, int], tuple[Any, int]]] = {}  # Any: the key's class
_ENCODERS: dict[_Key, Callable[[Any], list[bytes]]] = {}  # Any: same
_SLICED_DECODERS: dict[_Key, Callable[[bytes, int, int], Generator[None, None, tuple[Any, int]]]] = {}  # Any: same
_SLICED_ENCODERS: dict[_Key, Callable[[Any], Generator[None, None, list[bytes]]]] = {}  # Any: same


def decode(cls: type[M], version: int, data: bytes, *, layout: int | None = None) -> M:
    """Read a message that takes up all of `data`.

    Raises RemoteProtocolError (byte offset, field path) on bytes that do not parse, bytes left over included, and
    UnsupportedVersionError on a version that the message never had.
    """
    decoder = _DECODERS.get((cls, version, layout)) or _compile_decoder(cls, version, layout)
    try:
        message, end = decoder(data, 0, UNLIMITED)
    except decoder_compiler.FAST_PATH_ERRORS:
        message, end = decode_reference(message_layout(cls, version, layout), data, 0)
    if end != len(data):
        raise RemoteProtocolError(f"{len(data) - end} bytes left over", offset=end)
    found: M = message
    return found


def decode_prefix(
    cls: type[M],
    version: int,
    data: bytes,
    position: int = 0,
    *,
    layout: int | None = None,
    elements_max: int = UNLIMITED,
) -> tuple[M, int]:
    """Return the message that starts at `position`, and the position behind it.

    Raises as `decode` does, and TooManyElementsError for a request whose arrays have more than `elements_max` elements
    together, or with more unknown tagged fields in one place than UNKNOWN_TAGS_MAX.
    """
    decoder = _DECODERS.get((cls, version, layout)) or _compile_decoder(cls, version, layout)
    try:
        found: tuple[M, int] = decoder(data, position, elements_max)
    except TooManyElementsError:
        raise
    except decoder_compiler.FAST_PATH_ERRORS as error:
        if elements_max != UNLIMITED and len(data) - position > _REFERENCE_BYTES_MAX:
            raise _does_not_parse(cls, position) from error
        return decode_reference(message_layout(cls, version, layout), data, position)
    return found


def decode_prefix_in_slices(
    cls: type[M], version: int, data: bytes, position: int, *, elements_max: int
) -> Generator[None, None, tuple[M, int]]:
    """Read a large request as `decode_prefix` does, and yield after a thousand elements of its arrays."""
    key = cls, version, None
    decoder = _SLICED_DECODERS.get(key)
    if decoder is None:
        made = decoder_compiler.compile_sliced_decoder(message_layout(*key), f"{cls.__name__} v{version} in slices")
        decoder = _SLICED_DECODERS.setdefault(key, made)
    try:
        found: tuple[M, int] = yield from decoder(data, position, elements_max)
    except TooManyElementsError:
        raise
    except decoder_compiler.FAST_PATH_ERRORS as error:
        raise _does_not_parse(cls, position) from error
    return found


def encode(message: WireMessage, version: int, *, layout: int | None = None) -> bytes:
    """Write a message.

    Raises LocalProtocolError naming the field whose value the wire cannot hold, and UnsupportedVersionError for a
    version that the message never had, or a field that is set, not ignorable, and absent from the version.
    """
    cls = type(message)
    encoder = _ENCODERS.get((cls, version, layout)) or _compile_encoder(cls, version, layout)
    try:
        return b"".join(encoder(message))
    except encoder_compiler.FAST_PATH_ERRORS:
        return encode_reference(message_layout(cls, version, layout), message)


def encode_pieces(message: WireMessage, version: int) -> list[bytes]:
    """Write a message in pieces that follow on one another; large fields of bytes are passed on without being copied.

    There is at least one piece. Such a field may be a memoryview, whoever takes the pieces must not join them then
    but where it has to. Raises as `encode` does.
    """
    cls = type(message)
    encoder = _ENCODERS.get((cls, version, None)) or _compile_encoder(cls, version, None)
    try:
        return encoder_compiler.join_small(encoder(message))
    except encoder_compiler.FAST_PATH_ERRORS:
        return [encode_reference(message_layout(cls, version, None), message)]


def encode_in_slices(message: WireMessage, version: int) -> Generator[None, None, list[bytes]]:
    """Write a message as `encode_pieces` does, and yield after some hundred elements of its arrays."""
    key = type(message), version, None
    encoder = _SLICED_ENCODERS.get(key)
    if encoder is None:
        title = f"{type(message).__name__} v{version} in slices"
        made = encoder_compiler.compile_sliced_encoder(message_layout(*key), title)
        encoder = _SLICED_ENCODERS.setdefault(key, made)
    try:
        return encoder_compiler.join_small((yield from encoder(message)))
    except encoder_compiler.FAST_PATH_ERRORS:
        return [encode_reference(message_layout(*key), message)]


def _does_not_parse(cls: type[WireMessage], position: int) -> RemoteProtocolError:
    return RemoteProtocolError(f"{cls.__name__} does not parse", offset=position)


def _compile_decoder(
    cls: type[WireMessage], version: int, layout: int | None
) -> Callable[[bytes, int, int], tuple[Any, int]]:  # Any: cls
    found = None if layout is not None else written_codecs.DECODERS.get((cls.__name__, version))
    if found is None:
        found = decoder_compiler.compile_decoder(
            message_layout(cls, version, layout),
            f"{cls.__name__} v{version}",
            counts_elements=cls.SCHEMA.info.kind in _OF_CLIENTS,
        )
    return _DECODERS.setdefault((cls, version, layout), found)


def _compile_encoder(
    cls: type[WireMessage], version: int, layout: int | None
) -> Callable[[Any], list[bytes]]:  # Any: cls
    found = None if layout is not None else written_codecs.ENCODERS.get((cls.__name__, version))
    if found is None:
        found = encoder_compiler.compile_encoder(message_layout(cls, version, layout), f"{cls.__name__} v{version}")
    return _ENCODERS.setdefault((cls, version, layout), found)
