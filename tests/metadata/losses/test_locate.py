import pytest
from hypothesis import given
from hypothesis import strategies as st
from metadata_files import batch_of, directories, load_log
from metadata_histories import HistoryMaker, values
from metadata_images import D1, D2, TOPIC_ID, acl, broker, image_of, options_at, orders, partition

from falkirk.metadata.levels.writer import assess
from falkirk.metadata.losses.locate import locate
from falkirk.metadata.publishing.loader import MetadataLoader
from falkirk.metadata.records.errors import UnreadableRecordError
from falkirk.metadata.records.record_key import object_key
from falkirk.metadata.records.record_reader import read_record
from falkirk.protocol.messages import (
    BrokerRegistrationChangeRecord,
    PartitionChangeRecord,
    TopicRecord,
    UserScramCredentialRecord,
)
from falkirk.versions.release import Release


def log(*records, base_offset=0, source="0.log"):
    return batch_of(
        values([(record, max(type(record).SCHEMA.info.versions)) for record in records]), base_offset, source
    )


def places(*records, at=9):
    batches = [log(*records)]
    image = image_of(*records, level=None)
    report = assess(image, options_at(at))
    found = locate([*report.losses, *report.inaccessible, *report.dropped_features], batches)
    return {loss.kind: loss.offset for loss in found}


def test_the_last_record_that_wrote_it_counts_and_changes_of_other_fields_do_not():
    first = broker(log_dirs=(D1, D2))
    found = places(
        first,
        BrokerRegistrationChangeRecord(1, 1, cordoned_log_dirs=(D1,)),
        BrokerRegistrationChangeRecord(1, 1, log_dirs=(D2, D1)),
        BrokerRegistrationChangeRecord(1, 1, fenced=-1),
        orders(),
        partition(replicas=(1,), directories=(D1,)),
        PartitionChangeRecord(0, TOPIC_ID, directories=(D2,)),
        PartitionChangeRecord(0, TOPIC_ID, leader=1),
        PartitionChangeRecord(0, TOPIC_ID, isr=(), eligible_leader_replicas=(1,)),
        PartitionChangeRecord(0, TOPIC_ID, leader=-1),
    )

    assert found == {
        "broker_log_dirs": 2,
        "cordoned_log_dirs": 1,
        "directory_assignment": 6,
        "elr_to_isr": 8,
    }


def test_records_of_other_objects_do_not_count():
    other = UserScramCredentialRecord("bob", 1)
    found = places(UserScramCredentialRecord("alice", 1), acl("10.0.0.0/8"), UserScramCredentialRecord("alice", 2))
    batches = [log(UserScramCredentialRecord("alice", 1), other, UserScramCredentialRecord("alice", 2))]
    report = assess(image_of(UserScramCredentialRecord("alice", 1), other, level=None), options_at(9))

    assert found["cidr_allow_acl"] == 1
    assert [loss.offset for loss in locate(report.losses, batches)] == [0, 1]


def test_a_loss_names_the_record_that_wrote_it():
    change = PartitionChangeRecord(0, TOPIC_ID, isr=(), eligible_leader_replicas=(1,))
    [loss] = assess(image_of(orders(), partition(), change), options_at(9)).losses

    assert loss.record == "PartitionRecord"
    assert [item.record for item in locate([loss], [log(orders(), partition(), change)])] == ["PartitionChangeRecord"]


def test_a_loss_is_found_in_the_file_that_has_it():
    image = image_of(UserScramCredentialRecord("alice", 1), acl("10.0.0.0/8"))
    losses = assess(image, options_at(9)).losses
    snapshot = log(acl("10.0.0.0/8"), UserScramCredentialRecord("alice", 1), source="5-1.checkpoint")
    later = log(UserScramCredentialRecord("alice", 1), base_offset=70)

    found = {loss.kind: (loss.offset, loss.source) for loss in locate(losses, [snapshot, later])}
    assert found == {"cidr_allow_acl": (0, "5-1.checkpoint"), "scram_credential": (70, "0.log")}


def test_what_no_record_wrote_stays_without_a_place():
    losses = assess(image_of(UserScramCredentialRecord("alice", 1)), options_at(9)).losses

    assert [loss.offset for loss in locate(losses, [log(orders())])] == [None]
    assert locate([], [log(orders())]) == []


def test_unknown_fields_are_located_where_they_stand():
    records = (TopicRecord("orders", TOPIC_ID, unknown_tagged_fields=((5, b""),)), partition())

    assert places(*records, at=33) == {"unknown_tagged_field": 0}


def test_bytes_that_are_no_record_are_refused():
    losses = assess(image_of(acl("10.0.0.0/8")), options_at(9)).losses
    with pytest.raises(UnreadableRecordError, match="at offset 4 of f"):
        locate(losses, [batch_of([b"\x01\x12\x00\x01"], 4, "f")])


@pytest.mark.slow
@given(seed=st.integers(0, 2**32), level=st.integers(11, 33), target=st.integers(7, 30))
def test_every_loss_of_a_log_is_found_in_it(seed, level, target):
    from random import Random

    maker = HistoryMaker(Random(seed), level)
    batches, offset = [], 0
    for records in [maker.first_batch(), *(maker.batch() for _ in range(15))]:
        batches.append(batch_of(values(records), offset))
        offset += len(records)
    report = assess(MetadataLoader().load_log(batches), options_at(target))
    by_offset = {at: value for batch in batches for at, value in enumerate(batch.values, batch.base_offset)}

    for loss in locate([*report.losses, *report.dropped_features], batches):
        assert loss.offset is not None
        assert object_key(read_record(by_offset[loss.offset])) == loss.key


def test_in_a_real_log_each_loss_is_found_in_the_change_of_the_last_stop():
    directory = directories("cluster-4.3.1.tar.gz")["."]
    batches = list(directory.log_batches())
    report = assess(load_log(batches), options_at("3.9-IV0", release=Release.parse("3.9")))
    found = locate([*report.losses, *report.dropped_features], batches)
    by_offset = {at: value for batch in batches for at, value in enumerate(batch.values, batch.base_offset)}

    assert len(report.losses) == 146
    for loss in found:
        record = read_record(by_offset[loss.offset])
        assert object_key(record) == loss.key
        if loss.kind == "elr_to_isr":
            assert type(record).__name__ == "PartitionChangeRecord"
            assert list(record.isr) == loss.before["isr"]
