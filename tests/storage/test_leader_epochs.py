import pytest
from hypothesis import given
from hypothesis import strategies as st
from storage_files import STORAGE, label

from falkirk.storage.leader_epochs import EpochEntry, LeaderEpochs, format_leader_epochs, parse_leader_epochs

EPOCH_FILES = sorted(STORAGE.rglob("leader-epoch-checkpoint"))


@pytest.mark.parametrize("path", EPOCH_FILES, ids=label)
def test_leader_epochs_of_kafka_are_written_byte_for_byte(path):
    assert format_leader_epochs(parse_leader_epochs(path.read_bytes())) == path.read_bytes()


def test_a_file_that_was_never_written_is_kept_so():
    assert parse_leader_epochs(b"") == LeaderEpochs(is_blank=True)
    assert format_leader_epochs(LeaderEpochs(is_blank=True)) == b""
    assert format_leader_epochs(LeaderEpochs()) == b"0\n0\n"


@given(
    st.lists(st.builds(EpochEntry, epoch=st.integers(0, 99), start_offset=st.integers(0, 99)), max_size=4).map(tuple)
)
def test_parse_is_the_inverse_of_format_for_epochs(entries):
    epochs = LeaderEpochs(entries=entries)
    assert parse_leader_epochs(format_leader_epochs(epochs)) == epochs


def test_the_epoch_of_an_offset_is_that_of_the_entry_before_it():
    epochs = parse_leader_epochs(b"0\n2\n3 10\n7 20\n")
    assert [epochs.epoch_of(offset) for offset in (9, 10, 19, 20, 99)] == [None, 3, 3, 7, 7]
    assert (epochs.latest_epoch, LeaderEpochs().latest_epoch) == (7, None)


def test_entries_out_of_order_are_pointed_out():
    assert parse_leader_epochs(b"0\n2\n3 10\n7 20\n").first_disorder() is None
    assert parse_leader_epochs(b"0\n2\n3 10\n3 20\n").first_disorder() == EpochEntry(epoch=3, start_offset=20)
    assert parse_leader_epochs(b"0\n2\n3 10\n4 10\n").first_disorder() == EpochEntry(epoch=4, start_offset=10)
