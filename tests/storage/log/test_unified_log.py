import errno

import pytest
from data_logs import DIRECTORY, NOW, TOPIC_ID, contents, marker, opened, produce, produced, stored, whole_batches

from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.record_batch import read_batches
from falkirk.storage.errors import InconsistentTopicIdError
from falkirk.storage.leader_epochs import EpochEntry, parse_leader_epochs
from falkirk.storage.log.append import AppendOrigin, AppendRefusedError, CorruptRecordsError
from falkirk.storage.log.read import FetchIsolation, OffsetOutOfRangeError, TimestampOffset
from falkirk.storage.log.verification import UNVERIFIED, VERIFICATION_OFF
from falkirk.storage.memory_disk import MemoryDisk, MemoryLogFile

DAY = 24 * 3600 * 1000


def refusal(log, batch, *, epoch=0, origin=AppendOrigin.CLIENT, **checks):
    before = (log.log_end_offset, contents(log), log.active_producers())
    with pytest.raises(AppendRefusedError) as caught:
        log.append_as_leader(batch, epoch, NOW, origin=origin, **checks)
    assert (log.log_end_offset, contents(log), log.active_producers()) == before
    return caught.value.error_code


def names(disk, kind=""):
    return [name for name in disk.list(DIRECTORY) if name.endswith(kind)]


# --- Append as the leader


def test_what_is_produced_gets_offsets_and_the_leaders_epoch():
    log = opened()
    first = produce(log, b"a", b"b", epoch=3)
    second = produce(log, b"c", epoch=3)
    assert (first.first_offset, first.last_offset, second.first_offset, second.last_offset) == (0, 1, 2, 2)
    assert [(batch.base_offset, batch.leader_epoch) for batch in read_batches(contents(log))] == [(0, 3), (2, 3)]
    assert (log.log_end_offset, log.latest_epoch, log.size) == (3, 3, len(contents(log)))


def test_more_than_a_segment_holds_is_refused():
    assert refusal(opened(segment_bytes=200), produced([b"x" * 300])) is ErrorCode.RECORD_LIST_TOO_LARGE


def test_an_append_that_the_disk_refuses_leaves_the_file_as_long_as_it_was(monkeypatch):
    disk = MemoryDisk()
    log = opened(disk)
    produce(log, b"a")
    before = contents(log)
    append = MemoryLogFile.append

    def failing(self, data):
        append(self, bytes(data)[:10])
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(MemoryLogFile, "append", failing)
    with pytest.raises(OSError, match="no space"):
        produce(log, b"b")
    monkeypatch.undo()
    assert disk.read(f"{DIRECTORY}/00000000000000000000.log") == before
    assert (log.log_end_offset, contents(log)) == (1, before)
    assert produce(log, b"c").first_offset == 1


# --- Idempotent producers


def test_a_batch_that_comes_again_among_the_last_five_is_answered_with_its_old_offsets():
    log = opened()
    for sequence in range(0, 14, 2):
        produce(log, b"a", b"b", producer=(7, 0, sequence))
    for sequence in (4, 6, 8, 10, 12):
        info = produce(log, b"a", b"b", producer=(7, 0, sequence), now_ms=NOW + 5)
        assert (info.is_duplicate, info.first_offset, info.last_offset) == (True, sequence, sequence + 1)
    assert log.log_end_offset == 14
    assert refusal(log, produced([b"a", b"b"], producer=(7, 0, 2))) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_producer_is_known_by_its_last_batch_after_a_restart():
    disk = MemoryDisk()
    log = opened(disk)
    for sequence in range(3):
        produce(log, producer=(7, 0, sequence))
    log.close()
    log = opened(disk)
    assert produce(log, producer=(7, 0, 2)).is_duplicate
    assert refusal(log, produced(producer=(7, 0, 1))) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert produce(log, producer=(7, 0, 3)).first_offset == 3


@pytest.mark.parametrize(
    ("producer", "error"),
    [
        ((7, 1, 4), ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),  # a gap
        ((7, 1, 0), ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),  # back
        ((7, 2, 3), ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),  # a new epoch begins at 0
        ((7, 0, 3), ErrorCode.INVALID_PRODUCER_EPOCH),
    ],
)
def test_sequence_numbers_and_epochs_follow_on_one_another(producer, error):
    log = opened()
    produce(log, b"a", b"b", b"c", producer=(7, 1, 0))
    assert refusal(log, produced(producer=producer)) is error
    assert produce(log, producer=(7, 1, 3)).first_offset == 3
    assert produce(log, producer=(7, 2, 0)).first_offset == 4


def test_an_unknown_producer_may_begin_anywhere():
    assert produce(opened(), producer=(7, 5, 1234)).first_offset == 0


def test_sequence_numbers_wrap_around():
    log = opened()
    produce(log, b"a", b"b", producer=(7, 0, 2**31 - 2))
    assert produce(log, b"c", producer=(7, 0, 0)).first_offset == 2
    assert produce(log, b"a", b"b", producer=(7, 0, 2**31 - 2)).first_offset == 0
    log = opened()
    produce(log, b"a", b"b", b"c", producer=(7, 0, 2**31 - 2))
    assert produce(log, b"d", producer=(7, 0, 1)).first_offset == 3


def test_a_batch_that_wraps_around_is_known_again_after_a_restart():
    disk = MemoryDisk()
    log = opened(disk)
    produce(log, b"a", b"b", b"c", producer=(7, 0, 2**31 - 2))
    log.close()
    assert produce(opened(disk), b"a", b"b", b"c", producer=(7, 0, 2**31 - 2)).is_duplicate


def test_producers_that_write_nothing_are_forgotten():
    disk = MemoryDisk()
    log = opened(disk)
    produce(log, producer=(7, 0, 0))
    produce(log, producer=(8, 0, 0), timestamp=NOW + DAY)
    log.remove_expired_producers(NOW + DAY - 1)
    assert [entry.producer_id for entry in log.active_producers()] == [7, 8]
    log.remove_expired_producers(NOW + DAY)
    assert [entry.producer_id for entry in log.active_producers()] == [8]
    assert produce(log, producer=(7, 0, 40)).first_offset == 2
    log.close()
    assert [entry.producer_id for entry in opened(disk, now_ms=NOW + 2 * DAY).active_producers()] == []


# --- Transactions, as directories of real brokers hold them


def transactional_log(**changes):
    log = opened(**changes)
    log.append_as_follower(
        stored(0, 0, producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True)
        + stored(1, 0, producer_id=2, producer_epoch=0, base_sequence=0, is_transactional=True)
        + stored(2, 0)
    )
    log.update_high_watermark(3)
    return log


def test_committed_readers_see_nothing_behind_an_open_transaction():
    log = transactional_log()
    assert (log.last_stable_offset, log.high_watermark) == (0, 3)
    log.append_as_follower(marker(3, 0, (1, 0), is_commit=False) + marker(4, 0, (2, 0), is_commit=True))
    assert log.last_stable_offset == 0  # the markers are not replicated
    log.update_high_watermark(4)
    assert log.last_stable_offset == 1
    log.update_high_watermark(5)
    assert log.last_stable_offset == 5
    fetched = log.read(0, 1000, FetchIsolation.TXN_COMMITTED)
    assert len(whole_batches(bytes(fetched.records))) == 5
    assert [(aborted.producer_id, aborted.first_offset) for aborted in fetched.aborted_transactions] == [(1, 0)]
    assert log.read(0, 1000, FetchIsolation.HIGH_WATERMARK).aborted_transactions is None
    assert log.read(4, 1000, FetchIsolation.TXN_COMMITTED).aborted_transactions == ()


def test_a_transaction_that_ended_below_the_high_watermark_stays_ended_when_the_log_is_cut_behind_it():
    log = transactional_log()
    log.append_as_follower(marker(3, 0, (1, 0), is_commit=True) + marker(4, 0, (2, 0), is_commit=True))
    log.append_as_follower(stored(5, 0))
    log.update_high_watermark(5)
    log.truncate_to(5)
    assert log.last_stable_offset == 5


def test_aborted_transactions_are_told_though_the_marker_is_in_a_later_segment():
    log = transactional_log(segment_bytes=225)
    log.append_as_follower(stored(3, 0))
    log.append_as_follower(marker(4, 0, (1, 0), is_commit=False) + marker(5, 0, (2, 0), is_commit=False))
    log.update_high_watermark(6)
    assert len(log.segments) == 3
    first = log.read(0, 1000, FetchIsolation.TXN_COMMITTED)
    assert [(aborted.producer_id, aborted.last_offset) for aborted in first.aborted_transactions] == [(1, 4), (2, 5)]


def test_open_transactions_and_aborted_ones_outlive_a_restart_of_either_kind():
    for had_clean_shutdown in (True, False):
        disk = MemoryDisk()
        log = transactional_log(disk=disk)
        log.append_as_follower(marker(3, 0, (1, 0), is_commit=False))
        aborted = log.segments.active.aborted
        assert len(aborted) == 1
        if had_clean_shutdown:
            log.close()
        log = opened(disk, had_clean_shutdown=had_clean_shutdown)
        log.update_high_watermark(4)
        assert (log.last_stable_offset, list(log.segments.active.aborted)) == (1, list(aborted))


def test_a_client_may_go_on_with_an_open_transaction_but_not_begin_one_here():
    log = transactional_log()
    going_on = produced(producer=(1, 0, 1), is_transactional=True)
    assert log.append_as_leader(going_on, 0, NOW, origin=AppendOrigin.CLIENT).first_offset == 3
    assert refusal(log, produced(producer=(1, 0, 2))) is ErrorCode.INVALID_TXN_STATE
    assert refusal(log, produced(producer=(9, 0, 0), is_transactional=True)) is ErrorCode.INVALID_TXN_STATE


def begun(log, producer, *, now_ms=NOW, adds_partitions=False):
    return log.begin_verification(*producer, now_ms, adds_partitions=adds_partitions)


def first_of(producer):
    return produced(producer=producer, is_transactional=True)


def test_a_verified_transaction_begins_once_and_goes_on_without_a_guard():
    log = opened()
    guard = begun(log, (9, 0, 0))
    assert guard != UNVERIFIED
    assert refusal(log, first_of((9, 0, 0)), guard=guard + 1) is ErrorCode.INVALID_TXN_STATE
    append_transactional(log, (9, 0, 0), guard=guard)
    assert begun(log, (9, 0, 1)) == UNVERIFIED
    append_transactional(log, (9, 0, 1))


def test_a_marker_makes_a_guard_worthless():
    log = opened()
    guard = begun(log, (9, 0, 0))
    end(log, (9, 0))
    assert refusal(log, first_of((9, 0, 0)), guard=guard) is ErrorCode.INVALID_TXN_STATE
    # Nor does that of the verification before it fit a new one.
    assert begun(log, (9, 0, 0)) != guard
    assert refusal(log, first_of((9, 0, 0)), guard=guard) is ErrorCode.INVALID_TXN_STATE


def test_a_truncation_makes_a_guard_worthless():
    log = opened()
    produce(log, b"a")
    guard = begun(log, (9, 0, 0))
    log.truncate_to(0)
    assert begun(log, (9, 0, 0)) != guard


def test_a_verification_that_nobody_comes_back_to_expires():
    log = opened()
    guard = begun(log, (9, 0, 0))
    log.remove_expired_producers(NOW + DAY - 1)
    assert begun(log, (9, 0, 0)) == guard
    log.remove_expired_producers(NOW + DAY)
    assert begun(log, (9, 0, 0)) != guard


def test_without_verification_any_transaction_may_begin():
    log = opened()
    append_transactional(log, (9, 0, 3), guard=VERIFICATION_OFF)
    assert log.first_unstable_offset == 0


def test_a_later_batch_does_not_get_before_the_first_that_asked():
    log = opened()
    guard = begun(log, (9, 0, 2))
    assert begun(log, (9, 0, 5)) == guard
    assert refusal(log, first_of((9, 0, 5)), guard=guard) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert begun(log, (9, 0, 1)) == guard
    assert refusal(log, first_of((9, 0, 2)), guard=guard) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    append_transactional(log, (9, 0, 1), guard=guard)


def test_another_epoch_has_sequences_of_its_own():
    log = opened()
    begun(log, (9, 0, 0))
    guard = begun(log, (9, 1, 4))
    append_transactional(log, (9, 1, 4), guard=guard)


def test_where_every_transaction_has_its_own_epoch_the_first_sequence_is_0():
    log = opened()
    guard = begun(log, (9, 0, 3), adds_partitions=True)
    assert refusal(log, first_of((9, 0, 3)), guard=guard) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    append_transactional(log, (9, 0, 0), guard=guard)


def test_an_open_transaction_is_that_of_its_epoch():
    log = opened()
    append_transactional(log, (9, 3, 0), guard=begun(log, (9, 3, 0)))
    with pytest.raises(AppendRefusedError) as fenced:
        begun(log, (9, 2, 1))
    assert fenced.value.error_code is ErrorCode.INVALID_PRODUCER_EPOCH
    assert begun(log, (9, 4, 0)) != UNVERIFIED
    assert refusal(log, first_of((9, 4, 0))) is ErrorCode.INVALID_TXN_STATE


def test_markers_of_transaction_version_2_have_a_higher_epoch_or_were_sent_before():
    log = opened()
    append_transactional(log, (9, 3, 0), guard=VERIFICATION_OFF)
    same = marker(0, 0, (9, 3), is_commit=True)
    coordinator = {"origin": AppendOrigin.COORDINATOR, "transaction_version": 2}
    assert refusal(log, same, **coordinator) is ErrorCode.INVALID_PRODUCER_EPOCH
    end(log, (9, 4), transaction_version=2)
    assert log.first_unstable_offset == 0  # until the marker is replicated
    log.update_high_watermark(log.log_end_offset)
    assert log.first_unstable_offset is None
    end(log, (9, 4), transaction_version=2)
    older = marker(0, 0, (9, 3), is_commit=True)
    assert refusal(log, older, **coordinator) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_the_last_epoch_there_is_ends_its_own_transaction():
    log = opened()
    append_transactional(log, (9, 32767, 0), guard=VERIFICATION_OFF)
    end(log, (9, 32767), transaction_version=2)
    log.update_high_watermark(log.log_end_offset)
    assert log.first_unstable_offset is None


def append_transactional(log, producer, *, guard=UNVERIFIED):
    return log.append_as_leader(first_of(producer), 0, NOW, origin=AppendOrigin.CLIENT, guard=guard)


def end(log, producer, *, transaction_version=0):
    batch = marker(0, 0, producer, is_commit=True)
    version = {"transaction_version": transaction_version}
    return log.append_as_leader(batch, 0, NOW, origin=AppendOrigin.COORDINATOR, **version)


def test_markers_of_an_old_producer_or_coordinator_are_refused():
    log = transactional_log()
    coordinator = AppendOrigin.COORDINATOR
    log.append_as_leader(marker(0, 0, (1, 3), is_commit=True, coordinator=5), 0, NOW, origin=coordinator)
    stale_producer = marker(0, 0, (1, 2), is_commit=True, coordinator=5)
    assert refusal(log, stale_producer, origin=coordinator) is ErrorCode.INVALID_PRODUCER_EPOCH
    stale_coordinator = marker(0, 0, (1, 3), is_commit=True, coordinator=4)
    assert refusal(log, stale_coordinator, origin=coordinator) is ErrorCode.TRANSACTION_COORDINATOR_FENCED


# --- Append as a follower


def test_a_follower_takes_what_the_leader_has_byte_for_byte_gaps_and_epochs_too():
    disk = MemoryDisk()
    log = opened(disk)
    sent = stored(0, 1, 2) + stored(5, 1) + stored(6, 4, 3)
    info = log.append_as_follower(sent)
    assert (info.first_offset, info.last_offset, log.log_end_offset) == (0, 8, 9)
    assert contents(log) == sent
    entries = parse_leader_epochs(disk.read(f"{DIRECTORY}/leader-epoch-checkpoint")).entries
    assert entries == (EpochEntry(epoch=1, start_offset=0), EpochEntry(epoch=4, start_offset=6))


def test_a_follower_drops_a_batch_that_is_cut_off():
    log = opened()
    assert log.append_as_follower((stored(0, 1) + stored(1, 1))[:-1]).last_offset == 0
    assert log.append_as_follower(stored(1, 1)[:-1]) is None
    assert log.append_as_follower(b"") is None
    assert contents(log) == stored(0, 1)


def test_a_follower_drops_batches_of_a_later_leader_than_it_follows():
    log = opened()
    assert log.append_as_follower(stored(0, 1) + stored(1, 2), leader_epoch=1).last_offset == 0
    assert log.append_as_follower(stored(1, 2), leader_epoch=1) is None
    assert log.latest_epoch == 1


@pytest.mark.parametrize(
    "sent",
    [
        stored(1, 1),  # before the end
        stored(3, 1) + stored(2, 1),
        stored(3, 1)[:-1] + b"\xff",
        stored(3, 1)[:16] + b"\x07" + stored(3, 1)[17:],
        stored(3, 1) + stored(4, 1, producer_id=3, producer_epoch=0, is_control=True),
    ],
    ids=["old", "back", "crc", "magic", "no marker"],
)
def test_a_follower_refuses_what_does_not_fit(sent):
    log = opened()
    log.append_as_follower(stored(0, 1, 3))
    with pytest.raises(CorruptRecordsError):
        log.append_as_follower(sent)
    assert (log.log_end_offset, contents(log)) == (3, stored(0, 1, 3))


def test_an_empty_follower_begins_with_the_batch_in_whose_middle_the_leaders_log_starts():
    log = opened(log_start_offset=12)
    assert (log.log_start_offset, log.log_end_offset) == (12, 12)
    log.append_as_follower(stored(10, 1, 5))
    assert (log.log_start_offset, log.log_end_offset, contents(log)) == (10, 15, stored(10, 1, 5))


# --- Read


def filled(**changes):
    log = opened(**{"segment_bytes": 400, "index_interval_bytes": 100, **changes})
    for at in range(20):
        produce(log, f"a{at}".encode(), f"b{at}".encode(), timestamp=NOW + 100 * at)
    return log


def test_a_read_begins_with_the_batch_that_holds_the_offset():
    log = filled()
    for offset in range(40):
        fetched = log.read(offset, 1000, FetchIsolation.LOG_END)
        batches = whole_batches(bytes(fetched.records))
        assert (fetched.first_offset, batches[0].base_offset) == (offset // 2 * 2, offset // 2 * 2)


def test_a_read_takes_no_more_bytes_than_asked_for_nor_than_the_segment_has():
    log = filled()
    size = len(produced([b"a1", b"b1"]))
    assert len(log.read(2, size + 10, FetchIsolation.LOG_END).records) == size + 10
    assert len(log.read(2, 100_000, FetchIsolation.LOG_END).records) < log.size
    assert len(log.read(2, size, FetchIsolation.LOG_END).records) == size
    assert bytes(log.read(2, size - 1, FetchIsolation.LOG_END).records) == b""
    needed = log.read(2, size - 1, FetchIsolation.LOG_END, is_one_batch_needed=True)
    assert len(needed.records) == size
    assert len(log.read(2, 0, FetchIsolation.LOG_END, is_one_batch_needed=True).records) == size


def test_large_batches_are_read_whole():
    log = opened()
    for _ in range(3):
        produce(log, b"x" * 9000, b"y" * 9000)
    for offset in (0, 1, 3, 5):
        data = log.read(offset, 100, FetchIsolation.LOG_END, is_one_batch_needed=True).records
        assert [batch.base_offset for batch in whole_batches(bytes(data))] == [offset // 2 * 2]
        data = log.read(offset, 19000, FetchIsolation.LOG_END).records
        assert [batch.base_offset for batch in whole_batches(bytes(data))] == [offset // 2 * 2]


def test_consumers_see_what_is_below_the_high_watermark_only():
    log = filled()
    assert bytes(log.read(0, 9999, FetchIsolation.HIGH_WATERMARK).records) == b""
    for high_watermark in (2, 6, 8, 22, 38, 40):
        log.update_high_watermark(high_watermark)
        seen, offset = [], 0
        while offset < high_watermark:
            data = bytes(log.read(offset, 9999, FetchIsolation.HIGH_WATERMARK).records)
            seen += whole_batches(data)
            assert sum(batch.size for batch in whole_batches(data)) == len(data)
            offset = seen[-1].end_offset
        assert offset == high_watermark
        assert bytes(log.read(offset, 9999, FetchIsolation.HIGH_WATERMARK).records) == b""


def test_offsets_that_the_log_does_not_have_are_out_of_range():
    log = filled()
    log.update_high_watermark(40)
    log.increment_log_start_offset(5)
    for offset in (4, 41):
        with pytest.raises(OffsetOutOfRangeError):
            log.read(offset, 100, FetchIsolation.LOG_END)
    assert bytes(log.read(40, 100, FetchIsolation.LOG_END).records) == b""


def test_a_read_goes_on_in_the_next_segment_where_the_cleaner_took_the_rest():
    log = opened(segment_bytes=300)
    log.append_as_follower(stored(0, 0, 3))
    log.append_as_follower(stored(3, 0, 3, value=b"x" * 90))
    log.append_as_follower(stored(9, 0, 3, value=b"x" * 90))
    assert len(log.segments) > 1
    assert log.read(7, 1000, FetchIsolation.LOG_END).first_offset == 9


# --- Epochs


def test_an_epoch_ends_where_the_next_one_begins():
    log = opened()
    log.append_as_follower(stored(0, 2, 3) + stored(3, 5, 2) + stored(5, 7))
    assert [log.end_offset_for_epoch(epoch) for epoch in (-1, 1, 2, 4, 5, 6, 7, 8)] == [
        None,
        (0, 1),
        (3, 2),
        (3, 2),
        (5, 5),
        (5, 5),
        (6, 7),
        None,
    ]
    assert [log.epoch_of(offset) for offset in (0, 2, 3, 5, 6)] == [2, 2, 5, 7, 7]
    assert opened().end_offset_for_epoch(0) is None


def test_an_epoch_that_wrote_nothing_goes_with_a_truncation_that_cuts_nothing():
    log = opened()
    log.append_as_follower(stored(0, 2, 3))
    log.assign_epoch_start_offset(5, 3)
    assert log.latest_epoch == 5
    assert not log.truncate_to(3)
    assert log.latest_epoch == 2
    log.append_as_follower(stored(3, 3))
    assert log.latest_epoch == 3


# --- Truncation


def test_a_cut_takes_the_segments_indexes_epochs_and_producers_behind_it():
    disk = MemoryDisk()
    log = opened(disk, segment_bytes=200)
    for at in range(10):
        produce(log, producer=(at % 3, 0, at // 3), epoch=at // 4)
    log.update_high_watermark(10)
    assert len(names(disk, ".snapshot")) == 4
    assert log.truncate_to(5)
    assert (log.log_end_offset, log.high_watermark, log.latest_epoch) == (5, 5, 1)
    assert len(list(read_batches(contents(log)))) == 5
    assert [(entry.producer_id, entry.last_sequence) for entry in log.active_producers()] == [(0, 1), (1, 1), (2, 0)]
    assert names(disk, ".log") == ["00000000000000000000.log", "00000000000000000002.log", "00000000000000000004.log"]
    deleted = log.pop_deleted_files()
    assert set(deleted) == set(names(disk, ".deleted"))
    assert "00000000000000000008.snapshot.deleted" in deleted
    assert log.pop_deleted_files() == ()
    assert produce(log, producer=(2, 0, 1), epoch=3).first_offset == 5


def test_a_cut_within_a_batch_takes_it_whole_and_the_log_ends_before_it():
    log = opened()
    log.append_as_follower(stored(0, 0, 3) + stored(3, 0, 3))
    assert log.truncate_to(4)
    assert log.log_end_offset == 3
    log.append_as_follower(stored(8, 0, 2))
    assert log.truncate_to(6)
    assert log.log_end_offset == 6  # in a gap


def test_the_recovery_point_falls_with_a_cut():
    log = filled()
    log.flush()
    assert log.recovery_point == 40
    log.truncate_to(10)
    assert log.recovery_point == 10


def test_a_cut_before_the_first_segment_begins_anew():
    log = opened(log_start_offset=10)
    log.append_as_follower(stored(10, 0, 3))
    assert log.truncate_to(4)
    assert (log.log_start_offset, log.log_end_offset, log.size, log.latest_epoch) == (4, 4, 0, None)


def test_a_log_begins_anew_at_any_offset():
    disk = MemoryDisk()
    log = opened(disk, segment_bytes=200)
    for at in range(5):
        produce(log, producer=(1, 0, at))
    log.truncate_fully_and_start_at(100)
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark, log.size) == (100, 100, 100, 0)
    assert (log.active_producers(), log.latest_epoch, names(disk, ".log")) == ([], None, ["00000000000000000100.log"])
    log.append_as_follower(stored(100, 3, 2))
    log.close()
    assert contents(opened(disk)) == stored(100, 3, 2)


# --- Roll


def test_a_segment_rolls_when_it_is_full():
    log = filled()
    assert all(segment.size <= 400 for segment in log.segments)
    assert len(log.segments) == 5


def test_segments_are_told_by_where_they_begin_and_their_largest_timestamps():
    log = opened(segment_bytes=100)
    assert log.segment_starts(NOW + 9) == [TimestampOffset(timestamp=NOW, offset=0)]
    for at in (2, 0, 5):
        produce(log, b"v" * 30, timestamp=NOW + at)
    found = [(start.timestamp - NOW, start.offset) for start in log.segment_starts(NOW + 9)]
    assert found == [(2, 0), (0, 1), (5, 2), (9, 3)]
    log.update_high_watermark(1)
    log.increment_log_start_offset(1)
    assert [start.offset for start in log.segment_starts(NOW + 9)] == [1, 1, 2, 3]


def test_a_segment_rolls_when_its_records_span_segment_ms_by_their_own_timestamps():
    log = opened(segment_ms=1000)
    produce(log, timestamp=NOW)
    produce(log, timestamp=NOW + 1000, now_ms=NOW + 5 * DAY)
    produce(log, timestamp=NOW + 1001)
    assert list(log.segments.base_offsets) == [0, 2]


def test_a_segment_rolls_when_an_index_is_full():
    log = opened(index_interval_bytes=0, segment_index_bytes=36)
    for _ in range(10):
        produce(log)  # one timestamp only: the offset index fills first
    assert list(log.segments.base_offsets) == [0, 5]
    log = opened(index_interval_bytes=0, segment_index_bytes=36)
    for at in range(10):
        produce(log, timestamp=NOW + at)
    assert list(log.segments.base_offsets) == [0, 3, 6, 9]


def test_a_segment_rolls_when_an_offset_is_too_far_from_its_first():
    log = opened()
    log.append_as_follower(stored(0, 0))
    log.append_as_follower(stored(2**31 - 1, 0))
    log.append_as_follower(stored(2**31, 0))
    log.append_as_follower(stored(2**32, 0))
    assert list(log.segments.base_offsets) == [0, 2**31, 2**32]


def test_an_idle_segment_rolls_when_it_is_asked_to():
    log = opened(segment_ms=1000)
    log.roll_if_due(NOW + DAY)
    assert len(log.segments) == 1
    produce(log)
    log.roll_if_due(NOW + 1000)
    assert len(log.segments) == 1
    log.roll_if_due(NOW + 1001)
    log.roll_if_due(NOW + DAY)
    assert list(log.segments.base_offsets) == [0, 1]


def test_segment_jitter_ms_spreads_the_rolls_of_logs_that_began_together():
    rolls = []
    for partition in range(20):
        log = opened(directory=f"/d0/t-{partition}", segment_ms=1000, segment_jitter_ms=400)
        produce(log)
        rolls.append(next(ms for ms in range(500, 1500) if log.roll_if_due(NOW + ms) or len(log.segments) > 1))
    assert 600 < min(rolls) < 750
    assert 850 < max(rolls) <= 1001
    assert len(set(rolls)) > 15


# --- Retention


def retained(log, **config):
    log.update_high_watermark(log.log_end_offset)
    log.config = type(log.config)(**{"segment_bytes": 400, "retention_ms": -1, **config})
    return log.delete_old_segments(NOW), list(log.segments.base_offsets)


def test_retention_by_size_takes_whole_segments_that_are_too_much():
    log = filled()
    bases, sizes = list(log.segments.base_offsets), [segment.size for segment in log.segments]
    assert retained(log, retention_bytes=sum(sizes[2:]) + 1) == (1, bases[1:])
    assert retained(log, retention_bytes=sum(sizes[2:])) == (1, bases[2:])
    assert (log.log_start_offset, log.size) == (bases[2], sum(sizes[2:]))
    assert retained(log, retention_bytes=-1) == (0, bases[2:])


def test_retention_by_time_counts_from_the_largest_timestamp_and_takes_the_active_segment_too():
    log = filled()
    bases = list(log.segments.base_offsets)
    log.update_high_watermark(40)
    log.config = type(log.config)(retention_ms=1000)
    largest = log.segments[1].largest[0]
    assert (log.delete_old_segments(largest + 1000), list(log.segments.base_offsets)) == (1, bases[1:])
    assert (log.delete_old_segments(largest + 1001), list(log.segments.base_offsets)) == (1, bases[2:])
    assert log.delete_old_segments(NOW + DAY) == 3
    assert (list(log.segments.base_offsets), log.log_start_offset, log.size) == ([40], 40, 0)
    assert log.delete_old_segments(NOW + 9 * DAY) == 0
    assert produce(log).first_offset == 40


def test_segments_before_the_logs_start_go_whatever_the_policy():
    log = filled()
    log.config = type(log.config)(cleanup_policy=frozenset(("compact",)))
    bases = list(log.segments.base_offsets)
    log.update_high_watermark(40)
    assert log.increment_log_start_offset(bases[2] + 1)
    assert not log.increment_log_start_offset(bases[2])
    assert (log.delete_old_segments(NOW + 90 * DAY), list(log.segments.base_offsets)) == (2, bases[2:])


def test_nothing_above_the_high_watermark_is_deleted():
    log = filled()
    bases = list(log.segments.base_offsets)
    log.update_high_watermark(bases[2] - 1)
    assert log.delete_old_segments(NOW + 90 * DAY) == 1
    assert log.log_start_offset == bases[1]
    with pytest.raises(ValueError, match="beyond the high watermark"):
        log.increment_log_start_offset(bases[2])


def test_deleted_files_are_told_and_keep_their_data_until_someone_removes_them():
    disk = MemoryDisk()
    log = opened(disk, segment_bytes=200, retention_bytes=0)
    for at in range(4):
        produce(log, producer=(1, 0, at))
    log.update_high_watermark(4)
    log.delete_old_segments(NOW)
    deleted = log.pop_deleted_files()
    assert sorted(deleted) == names(disk, ".deleted")
    assert len([name for name in deleted if name.endswith(".log.deleted")]) == 2
    for name in deleted:
        disk.remove(f"{log.directory}/{name}")
    log.close()
    assert opened(disk).log_end_offset == 4


# --- Flush, close, names


def test_the_recovery_point_follows_what_was_synced(monkeypatch):
    log = filled()
    bases = list(log.segments.base_offsets)
    synced = []
    monkeypatch.setattr(MemoryLogFile, "sync", lambda self: synced.append(self._path.rpartition("/")[2]))
    log.flush(up_to=bases[2])
    assert log.recovery_point == bases[2]
    assert synced == [f"{base:020d}.{kind}" for base in bases[:2] for kind in ("log", "index", "timeindex")] + [
        f"{base:020d}.snapshot" for base in bases[1:3]
    ]
    synced.clear()
    log.flush(up_to=bases[1])
    assert (log.recovery_point, synced) == (bases[2], [])
    log.flush()
    assert log.recovery_point == 40
    assert [name for name in synced if name.endswith(".log")] == [f"{base:020d}.log" for base in bases[2:]]


def test_a_log_is_flushed_after_flush_messages():
    log = opened(flush_messages=3)
    points = []
    for _ in range(7):
        produce(log)
        points.append(log.recovery_point)
    assert points == [0, 0, 3, 3, 3, 6, 6]


def test_a_closed_log_has_the_files_of_kafkas():
    disk = MemoryDisk()
    log = opened(disk)
    produce(log, producer=(1, 0, 0))
    log.close()
    assert disk.list(DIRECTORY) == [
        "00000000000000000000.index",
        "00000000000000000000.log",
        "00000000000000000000.timeindex",
        "00000000000000000001.snapshot",
        "leader-epoch-checkpoint",
        "partition.metadata",
    ]


def test_a_directory_of_another_topic_is_refused():
    disk = MemoryDisk()
    opened(disk).close()
    with pytest.raises(InconsistentTopicIdError, match="t-0 belongs to another topic"):
        opened(disk, topic_id=bytes(15) + b"\x09")
    assert opened(disk, topic_id=bytes(16)).topic_id == TOPIC_ID


def test_a_renamed_log_goes_on():
    disk = MemoryDisk()
    log = opened(disk, segment_bytes=200)
    for at in range(3):
        produce(log, producer=(1, 0, at))
    log.rename("t-0.abc-future")
    for at in range(3, 9):
        produce(log, producer=(1, 0, at), epoch=at)
    assert log.directory == "/d0/t-0.abc-future"
    assert (disk.exists(DIRECTORY), len(list(read_batches(contents(log))))) == (False, 9)
    log.close()
    log = opened(disk, directory="/d0/t-0.abc-future")
    assert (log.log_end_offset, log.latest_epoch, len(log.segments)) == (9, 8, 5)


# --- Cleaned segments


def test_cleaned_segments_take_the_place_of_old_ones():
    disk = MemoryDisk()
    log = filled(disk=disk)
    batches = list(read_batches(contents(log)))
    old = [log.segments[0], log.segments[1]]
    end = log.segments[2].base_offset
    kept = [batch for batch in batches if batch.base_offset < end and batch.base_offset % 4 == 0]
    cleaned = log.create_cleaned_segment(0)
    for batch in kept:
        (moved,) = read_batches(bytes(batch.data))
        cleaned.append(bytes(batch.data), [moved])
    log.replace_segments([cleaned], old)
    assert list(log.segments.base_offsets)[:2] == [0, end]
    assert [batch.base_offset for batch in read_batches(contents(log))] == [
        batch.base_offset for batch in batches if batch in kept or batch.base_offset >= end
    ]
    assert log.size == len(contents(log))
    assert set(log.pop_deleted_files()) == set(names(disk, ".deleted"))
    before = contents(log)
    log.close()
    assert contents(opened(disk)) == before


def test_a_consumers_view_ends_at_the_high_watermark_in_a_cleaned_segment_too():
    log = filled()
    log.update_high_watermark(6)
    before = whole_batches(bytes(log.read(0, 9999, FetchIsolation.HIGH_WATERMARK).records))
    assert [batch.base_offset for batch in before] == [0, 2, 4]
    cleaned = log.create_cleaned_segment(0)
    for batch in read_batches(contents(log)):
        if batch.base_offset in (4, 6, 8):
            cleaned.append(bytes(batch.data), list(read_batches(bytes(batch.data))))
    log.replace_segments([cleaned], [log.segments[0]])
    after = whole_batches(bytes(log.read(0, 9999, FetchIsolation.HIGH_WATERMARK).records))
    assert [batch.base_offset for batch in after] == [4]
