import pytest
from hypothesis import given
from hypothesis import strategies as st
from storage_files import STORAGE, label

from falkirk.storage.errors import CorruptFileError
from falkirk.storage.log.log_checkpoint import LogCheckpoint
from falkirk.storage.offset_checkpoints import (
    FILE_NAMES,
    OffsetCheckpoint,
    PartitionOffset,
    parse_offset_checkpoint,
)

OFFSET_FILES = sorted(path for name in FILE_NAMES for path in STORAGE.rglob(name))


@pytest.mark.parametrize("path", OFFSET_FILES, ids=label)
def test_offsets_of_kafka_are_written_byte_for_byte(path):
    checkpoint = parse_offset_checkpoint(path.read_bytes(), file=path.name)
    assert checkpoint.is_blank or b"".join(LogCheckpoint.of(checkpoint.as_dict()).chunks()) == path.read_bytes()


def test_a_file_that_was_never_written_is_blank():
    assert parse_offset_checkpoint(b"", file="x") == OffsetCheckpoint(is_blank=True)


def test_offsets_are_found_by_partition():
    checkpoint = parse_offset_checkpoint(b"0\n2\na.b-c 3 77\n__x 0 5\n", file="x")
    assert checkpoint.as_dict() == {("a.b-c", 3): 77, ("__x", 0): 5}


@pytest.mark.slow
@given(
    st.lists(
        st.builds(
            PartitionOffset,
            topic=st.from_regex(r"[a-zA-Z0-9._-]{1,20}", fullmatch=True),
            partition=st.integers(0, (1 << 31) - 1),
            offset=st.integers(-1, (1 << 63) - 1),
        ),
        max_size=4,
        unique_by=lambda entry: (entry.topic, entry.partition),
    ).map(tuple)
)
def test_what_is_written_is_read(entries):
    checkpoint = OffsetCheckpoint(entries=entries)
    data = b"".join(LogCheckpoint.of(checkpoint.as_dict()).chunks())
    assert parse_offset_checkpoint(data, file="x") == checkpoint


@pytest.mark.slow
def test_every_truncation_of_a_full_file_is_detected_or_reads_less():
    """As the format has it: a cut inside the last number can not be seen, every other one is."""
    data = (STORAGE / "4.0.0/d0/recovery-point-offset-checkpoint").read_bytes()
    whole = parse_offset_checkpoint(data, file="x")
    last_line = data.rindex(b"\n", 0, len(data) - 1)
    for size in range(1, len(data)):
        try:
            part = parse_offset_checkpoint(data[:size], file="x")
        except CorruptFileError:
            continue
        assert size > last_line
        assert part.entries[:-1] == whole.entries[:-1]
