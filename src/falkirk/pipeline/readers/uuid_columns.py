"""Columns of uuids as Kafka prints them, 22 characters of URL-safe base64, converted for all rows at once."""

from __future__ import annotations

from string import ascii_lowercase, ascii_uppercase, digits
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from falkirk.columnar.arrow_arrays import buffer_of, bytes_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

TEXT_CHARACTERS: Final = 22
_SAMPLE_ROWS: Final = 256
_UUID_BYTES: Final = 16
_TEXTS: Final = pa.list_(pa.string())
_ALPHABET: Final = np.frombuffer((ascii_uppercase + ascii_lowercase + digits + "-_").encode(), np.uint8)
# 12 bits -> their two characters, as one number of 16 bits.
_PAIRS: Final = np.stack([np.repeat(_ALPHABET, 64), np.tile(_ALPHABET, 64)], axis=1).copy().view(np.uint16).ravel()


def uuid_texts(array: pa.Array[Any]) -> pa.Array[Any]:  # Any: binary(16) to string
    """Return each uuid's text; null stays null, and the zero uuid is a text like any other."""
    sample = array.slice(0, _SAMPLE_ROWS)
    if len(sample.unique()) * 2 <= len(sample):
        # Topics and directories repeat from row to row: encoding distinct ones only is cheaper.
        encoded = array.dictionary_encode()
        return _texts(encoded.dictionary).take(encoded.indices)
    return _texts(array)


def uuid_lists(array: pa.Array[Any]) -> pa.Array[Any]:  # Any: list<binary(16)> to list<string>
    """Return the texts of lists of uuids; a null list stays null."""
    assert isinstance(array, pa.ListArray)
    texts = uuid_texts(array.flatten())
    offsets = np.zeros(len(array) + 1, np.int32)
    np.cumsum(array.value_lengths().fill_null(0).to_numpy(zero_copy_only=False), out=offsets[1:])
    buffers = [_validity(array), buffer_of(offsets)]
    return pa.Array.from_buffers(_TEXTS, len(array), buffers, children=[texts])


def _texts(array: pa.Array[Any]) -> pa.Array[Any]:  # Any: as above
    count = len(array)
    assert count * TEXT_CHARACTERS <= np.iinfo(np.int32).max, "offsets of strings have 31 bits"
    start = array.offset * _UUID_BYTES
    raw = bytes_of(array.buffers()[1])[start : start + count * _UUID_BYTES]
    offsets = (np.arange(count + 1) * TEXT_CHARACTERS).astype(np.int32)
    buffers = [_validity(array), buffer_of(offsets), buffer_of(_characters(raw.reshape(count, _UUID_BYTES)))]
    return pa.Array.from_buffers(pa.string(), count, buffers)


def _characters(uuids: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Encode rows of 16 bytes as rows of 22 characters: three bytes are two numbers of 12 bits."""
    padded = np.zeros((len(uuids), 18), np.uint8)
    padded[:, :_UUID_BYTES] = uuids
    triples = padded.reshape(len(uuids), 6, 3).astype(np.uint16)
    first, second, third = triples[:, :, 0], triples[:, :, 1], triples[:, :, 2]
    pairs = np.empty((len(uuids), 12), np.uint16)
    pairs[:, 0::2] = _PAIRS[(first << 4) | (second >> 4)]
    pairs[:, 1::2] = _PAIRS[((second & 0xF) << 8) | third]
    return np.ascontiguousarray(pairs[:, : TEXT_CHARACTERS // 2]).ravel().view(np.uint8)


def _validity(array: pa.Array[Any]) -> pa.Buffer | None:  # Any: as above
    if not array.null_count:
        return None
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    return buffer_of(np.packbits(valid, bitorder="little"))
