"""The load of a log: what each release reads, skips and refuses; what a compaction leaves loads to the same state."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from legal_compactions import entries_of, legal_compactions
from msgspec.structs import replace
from transaction_world import FIRST_PRODUCER_ID, P0, P1, P2, TransactionWorld

from falkirk.coordinator.records.log_entry import LogEntry, LoggedRecord
from falkirk.coordinator.runtime.load_failure import LoadFailure
from falkirk.coordinator.runtime.outcome import CoordinatorRecord
from falkirk.coordinator.transactions import transaction_loader
from falkirk.coordinator.transactions.transaction_loader import TransactionLoader
from falkirk.coordinator.transactions.transaction_metadata import TransactionMetadata
from falkirk.coordinator.transactions.transaction_rules import transaction_rules
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import TransactionLogKey, TransactionLogValue
from falkirk.versions.errors import IncompleteReleaseError
from falkirk.versions.release import Release

KEY = b"\x00\x00\x00\x02tx"
VALUE_V0 = entries_of(
    "4.4", [CoordinatorRecord(TransactionLogKey("tx"), TransactionLogValue(producer_id=5, transaction_timeout_ms=1), 0)]
)[0].value  # type: ignore[union-attr]
IDS = ("tx", "ty", "tz")
RELEASES = ("3.7", "3.8", "3.9", "4.0", "4.1", "4.2", "4.3", "4.4")


def durable(metadata: TransactionMetadata) -> TransactionMetadata:
    """Return what a record keeps of a state."""
    return replace(metadata, last_producer_epoch=-1)


def loaded_state(world: TransactionWorld, entries: Sequence[LogEntry]) -> dict[str, TransactionMetadata]:
    world.elect([entry for entry in entries if isinstance(entry, LoggedRecord)])
    return {metadata.transactional_id: metadata for metadata in world.shard.store.all()}


def played(data: st.DataObject, release: str, level: int, steps_max: int = 25) -> TransactionWorld:
    """Send random requests, mostly those of the owner; answer markers, let time pass, change leaders."""
    world = TransactionWorld(release, level)
    for _ in range(data.draw(st.integers(1, steps_max))):
        id_ = data.draw(st.sampled_from(IDS))
        state = world.state(id_)
        owner = (FIRST_PRODUCER_ID, 0) if state is None else (state.producer_id, state.producer_epoch)
        producer_id, epoch = data.draw(st.sampled_from([owner, owner, owner, (owner[0], owner[1] - 1), (1, 0)]))
        version = data.draw(st.sampled_from([4, 5])) if Release.parse(release).name >= "4" else 4
        match data.draw(st.integers(0, 7)):
            case 0:
                world.init(id_=id_)
            case 1:
                world.init(id_=id_, producer_id=producer_id, epoch=epoch)
            case 2 | 3:
                partitions = data.draw(st.sets(st.sampled_from([P0, P1, P2])))
                world.add(*partitions, id_=id_, producer_id=producer_id, epoch=epoch, version=version)
            case 4 | 5:
                commit = data.draw(st.booleans())
                world.end(commit=commit, id_=id_, producer_id=producer_id, epoch=epoch, version=version)
            case 6:
                world.advance(data.draw(st.sampled_from([1, 10_000, 60_000, 8 * 86_400_000])))
            case _:
                if world.markers:
                    errors = data.draw(st.lists(st.sampled_from([ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER])))
                    world.write_markers(*errors)
    return world


@given(st.data(), st.sampled_from(RELEASES), st.sampled_from([0, 1, 2]))
def test_a_new_leader_has_the_state_that_the_old_one_had(data: st.DataObject, release: str, level: int) -> None:
    """Up to what no record of that version keeps."""
    world = played(data, release, level)
    before = {metadata.transactional_id: metadata for metadata in world.shard.store.all()}
    after = loaded_state(world, world.log)
    assert after.keys() == before.keys()
    for id_, metadata in before.items():
        kept = after[id_]
        if level and transaction_rules(Release.parse(release)).records_producer_ids:
            assert kept == durable(metadata)
        assert (kept.state, kept.producer_id, kept.producer_epoch) == (
            metadata.state,
            metadata.producer_id,
            metadata.producer_epoch,
        )
        assert (kept.partitions, kept.start_timestamp_ms) == (metadata.partitions, metadata.start_timestamp_ms)


@given(st.data(), st.sampled_from(RELEASES), st.sampled_from([0, 1, 2]))
def test_any_legal_compaction_loads_to_the_same_state(data: st.DataObject, release: str, level: int) -> None:
    world = played(data, release, level)
    whole = loaded_state(world, world.log)
    markers = world.markers
    assert loaded_state(world, data.draw(legal_compactions(world.log))) == whole
    assert [replace(each, coordinator_epoch=0) for each in world.markers] == [
        replace(each, coordinator_epoch=0) for each in markers
    ]


@given(st.data(), st.sampled_from(["3.9", "4.0", "4.4"]), st.sampled_from([0, 2]))
def test_any_history_keeps_what_must_hold(data: st.DataObject, release: str, level: int) -> None:
    """Epochs of an id never fall, decisions are never reversed, and every transaction ends once markers are written."""
    world = played(data, release, level)
    epochs: dict[tuple[str, int], int] = {}
    last: dict[str, int] = {}
    for record in world.written:
        key, value = record.key, record.value
        assert isinstance(key, TransactionLogKey)
        if value is None:
            last.pop(key.transactional_id)
            continue
        assert isinstance(value, TransactionLogValue)
        owner = key.transactional_id, value.producer_id
        assert value.producer_epoch >= epochs.get(owner, 0)
        epochs[owner] = value.producer_epoch
        before, status = last.get(key.transactional_id), value.transaction_status
        if before in (2, 3):
            assert status == before + 2, "decided is decided"
        if status in (4, 5):
            assert before == status - 2
        last[key.transactional_id] = status
    while world.markers:
        world.write_markers()
    assert all(not metadata.is_prepared for metadata in world.shard.store.all())


@pytest.mark.parametrize("release", RELEASES)
def test_unknown_types_are_skipped_and_counted(release: str) -> None:
    world = TransactionWorld(release, 0)
    entries = [
        LoggedRecord(3, b"\x00\x07abc", b"x"),
        LoggedRecord(4, b"\x00\x07", None),
        LoggedRecord(5, KEY, VALUE_V0),
    ]
    assert world.elect(entries) is None
    assert (world.loader.unknown_types, world.loader.record_count) == ({7: 2}, 3)
    assert world.list() == ["tx"]


@pytest.mark.parametrize(("release", "is_skipped"), [("3.9", False), ("4.2", False), ("4.3", True), ("4.4", True)])
def test_values_of_a_newer_version(release: str, is_skipped: bool) -> None:
    entries = [LoggedRecord(5, KEY, VALUE_V0), LoggedRecord(6, KEY, b"\x00\x02" + bytes(40))]
    world = TransactionWorld(release, 0)
    failure = world.elect(entries)
    if is_skipped:
        assert (failure, world.list()) == (None, ["tx"])
    else:
        assert failure == LoadFailure(6, "transaction log value has no version 2, only 0-1")


def test_a_tolerant_shard_reads_a_newer_version_as_the_highest_known_one() -> None:
    value = TransactionLogValue(producer_id=9, producer_epoch=3, transaction_timeout_ms=1, transaction_partitions=None)
    (entry,) = entries_of("4.4", [CoordinatorRecord(TransactionLogKey("tx"), value, 1)])
    assert isinstance(entry, LoggedRecord)
    assert entry.value is not None
    world = TransactionWorld("4.2", is_tolerant=True)
    assert world.elect([LoggedRecord(0, entry.key, b"\x00\x07" + entry.value[2:])]) is None
    state = world.state()
    assert state is not None
    assert (state.producer_id, state.producer_epoch) == (9, 3)
    assert world.elect([LoggedRecord(1, entry.key, b"\xff\xff" + entry.value[2:])]) is not None


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        (None, b"x", "without a key"),
        (b"\x00", b"x", "without a key"),
        (b"\x00\x00\x00\x09tx", VALUE_V0, ""),
        (KEY, b"\x00\x00\x01", ""),
        (KEY, b"", ""),
        (KEY, VALUE_V0[:16] + b"\x09" + VALUE_V0[17:], "9 is not a valid TransactionState"),
    ],
)
def test_what_does_not_parse_fails_the_partition_with_its_offset(
    key: bytes | None, value: bytes | None, reason: str
) -> None:
    for release in ("3.9", "4.4"):
        failure = TransactionWorld(release).elect([LoggedRecord(17, key, value)])
        assert failure is not None
        assert failure.offset == 17
        assert reason in failure.reason


def test_unknown_tags_of_a_newer_release_stay_with_the_id() -> None:
    value = TransactionLogValue(
        producer_id=9,
        transaction_timeout_ms=60_000,
        transaction_partitions=None,
        unknown_tagged_fields=((77, b"new"),),
    )
    entries = entries_of("4.4", [CoordinatorRecord(TransactionLogKey("tx"), value, 1)])
    world = TransactionWorld()
    world.elect([entry for entry in entries if isinstance(entry, LoggedRecord)])
    world.add(P0, producer_id=9)
    written = world.written[-1].value
    assert isinstance(written, TransactionLogValue)
    assert written.unknown_tagged_fields == ((77, b"new"),)
    world.level = 0
    world.end(producer_id=9)
    written = world.written[-1].value
    assert isinstance(written, TransactionLogValue)
    assert written.unknown_tagged_fields == (), "version 0 holds none"


def test_a_release_that_is_not_in_the_tables_is_an_error() -> None:
    with pytest.raises(IncompleteReleaseError, match=r"3\.6\.2"):
        transaction_rules(Release.parse("3.6"))


def test_what_was_read_is_freed_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transaction_loader, "IDS_AT_ONCE", 5)
    loader = TransactionLoader(TransactionWorld().shard)
    values = loader._last
    for number in range(12):
        values[KEY + bytes([number])] = (number, 0, VALUE_V0)
    assert [len(values) for _ in loader.finish()] == [7, 2]
