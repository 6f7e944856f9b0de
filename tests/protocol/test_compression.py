from functools import partial
from random import Random

import cramjam
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from raised import raised

from falkirk.protocol.compression import (
    Compression,
    UncompressedTooLargeError,
    compress,
    compressed_pieces,
    decompress,
    decompressed_pieces,
)
from falkirk.protocol.errors import RemoteProtocolError

CODECS = list(Compression)
COMPRESSING = CODECS[1:]


@pytest.mark.parametrize("codec", CODECS)
@given(data=st.one_of(st.binary(max_size=300), st.binary(max_size=30).map(lambda part: part * 5000)))
@example(data=b"")
@example(data=bytes(3_000_000))
def test_decompress_is_the_inverse_of_compress(codec, data):
    assert decompress(codec, compress(codec, data)) == data


@pytest.mark.parametrize("codec", COMPRESSING)
def test_frames_begin_as_those_of_the_java_client(codec):
    start = {
        Compression.GZIP: "1f8b08000000000000ff",
        Compression.SNAPPY: "82534e41505059000000000100000001",
        Compression.LZ4: "04224d18604082",
        # No size of the content, window of 2 MiB: level 3 of a stream.
        Compression.ZSTD: "28b52ffd0058",
    }[codec]
    assert compress(codec, b"records" * 100).hex().startswith(start)


def test_a_raw_snappy_block_is_read_as_other_clients_write_it():
    data = b"no xerial header " * 50
    assert decompress(Compression.SNAPPY, bytes(cramjam.snappy.compress_raw(data))) == data


def test_xerial_streams_written_one_after_the_other_are_one():
    part = compress(Compression.SNAPPY, b"one")
    assert decompress(Compression.SNAPPY, part + compress(Compression.SNAPPY, b"two")) == b"onetwo"


def test_gzip_members_one_after_the_other_are_one():
    assert decompress(Compression.GZIP, compress(Compression.GZIP, b"one") * 2) == b"oneone"
    # They are read in pieces: members larger than one, smaller ones, and borders anywhere.
    random = Random(1)
    parts = [random.randbytes(size) for size in (5, 9000, 0, 4096 - 18, 4096, 3, 20_000)]
    members = b"".join(compress(Compression.GZIP, part) for part in parts)
    whole = b"".join(parts)
    assert decompress(Compression.GZIP, members, bytes_max=len(whole)) == whole
    with pytest.raises(UncompressedTooLargeError):
        decompress(Compression.GZIP, members, bytes_max=len(whole) - 1)
    with pytest.raises(RemoteProtocolError, match="stream ends early"):
        decompress(Compression.GZIP, members[:-1])


def test_blocks_that_do_not_shrink_are_stored_in_lz4():
    noise = Random(1).randbytes(100_000)
    data = compress(Compression.LZ4, noise)
    # Header, end mark, and one length for each block of 64 KiB.
    assert len(data) == len(noise) + 7 + 4 + 2 * 4
    assert decompress(Compression.LZ4, data) == noise


@pytest.mark.parametrize("codec", CODECS)
def test_the_bound_is_exact(codec):
    data = compress(codec, bytes(100_000))
    assert len(decompress(codec, data, bytes_max=100_000)) == 100_000
    with pytest.raises(RemoteProtocolError, match="holds more than 99999 bytes") as caught:
        decompress(codec, data, offset=61, bytes_max=99_999)
    assert caught.value.offset == 61


@pytest.mark.parametrize("codec", COMPRESSING)
def test_every_truncation_is_an_error(codec):
    data = compress(codec, b"some records, cut off anywhere" * 20)
    for size in range(len(data)):
        # Behind xerial's header there may be no block at all: an empty stream.
        if codec is Compression.SNAPPY and size == 16:
            assert decompress(codec, data[:size]) == b""
            continue
        with pytest.raises(RemoteProtocolError, match=codec.name.lower()):
            decompress(codec, data[:size])


@pytest.mark.parametrize("codec", [Compression.GZIP, Compression.LZ4, Compression.ZSTD])
def test_bytes_behind_the_end_are_an_error(codec):
    with pytest.raises(RemoteProtocolError, match="damaged"):
        decompress(codec, compress(codec, b"records") + b"more")


@pytest.mark.parametrize("codec", COMPRESSING)
@given(data=st.binary(max_size=200), cut=st.integers(0, 60))
def test_hostile_bytes_raise_one_error_or_are_read(codec, data, cut):
    for hostile in (data, compress(codec, b"x" * 100)[:cut] + data):
        error = raised(RemoteProtocolError, partial(decompress, codec, hostile, bytes_max=10_000))
        assert error is None or codec.name.lower() in error.reason
        pieces = decompressed_pieces(codec, hostile, bytes_max=10_000)
        in_pieces = raised(RemoteProtocolError, partial(list, pieces))
        assert str(in_pieces) == str(error)


@pytest.mark.parametrize("codec", Compression)
def test_pieces_make_the_whole(codec):
    data = Random(1).randbytes(100_000) + bytes(3 << 20)
    packed = b"".join(compressed_pieces(codec, data))
    assert packed == compress(codec, data)
    assert b"".join(decompressed_pieces(codec, packed)) == data
    sizes = [len(piece) for piece in decompressed_pieces(codec, packed)]
    assert (len(sizes) > 3 and max(sizes) <= 1 << 20) or codec not in (Compression.GZIP, Compression.SNAPPY)
    with pytest.raises(UncompressedTooLargeError):
        list(decompressed_pieces(codec, packed, bytes_max=len(data) - 1))


def test_a_snappy_block_that_promises_too_much_is_not_even_tried():
    block = b"\xff\xff\xff\x07" + b"\x00a"
    with pytest.raises(RemoteProtocolError, match="promises 16777215"):
        decompress(Compression.SNAPPY, block)
