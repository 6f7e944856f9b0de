"""Losses of partitions on columns, against the catalogue that the image writer goes by."""

import pytest
from columnar_cases import log_of
from hypothesis import given
from hypothesis import strategies as st

from falkirk.columnar.metadata_tables import partition_records
from falkirk.columnar.partition_losses import PARTITION_RULES, partition_losses
from falkirk.metadata.condition import RowContext
from falkirk.metadata.loss_catalogue import CATALOGUE
from falkirk.protocol.messages import PartitionRecord
from falkirk.protocol.metadata_record import encode_metadata_record
from falkirk.versions.metadata_version import METADATA_VERSIONS, MetadataVersion

RULES = [rule for rule in CATALOGUE if rule.record == "PartitionRecord"]
BROKERS = st.integers(0, 4)
DIRECTORIES = st.sampled_from([bytes(16), bytes(15) + b"\x01", bytes(15) + b"\x02", b"d" * 16])


@st.composite
def partitions(draw):
    replicas = draw(st.lists(BROKERS, max_size=4))
    directories = draw(st.lists(DIRECTORIES, min_size=len(replicas), max_size=len(replicas)))
    lists = st.lists(BROKERS, max_size=2).map(tuple)
    return PartitionRecord(
        replicas=tuple(replicas),
        isr=draw(lists),
        directories=tuple(directories) if draw(st.booleans()) else (),
        eligible_leader_replicas=draw(st.none() | lists),
        last_known_elr=draw(st.none() | lists),
    )


def columns_of(records):
    (batch,) = partition_records(log_of([encode_metadata_record(record, 2) for record in records]))
    return batch


def test_kinds_levels_and_order_are_those_of_the_catalogue():
    assert [(rule.kind, rule.level, rule.elr) for rule in PARTITION_RULES] == [
        (rule.kind, rule.level, rule.elr) for rule in RULES
    ]


@pytest.mark.slow
@given(
    st.lists(partitions(), min_size=1, max_size=8),
    st.dictionaries(BROKERS, st.integers(0, 3), max_size=4),
    st.sampled_from(METADATA_VERSIONS),
    st.booleans(),
)
def test_the_same_partitions_are_hit_as_by_the_catalogue(records, log_dir_counts, at, elr_enabled):
    found = partition_losses(columns_of(records), at, elr_enabled=elr_enabled, log_dir_counts=log_dir_counts)
    context = RowContext(log_dir_counts=log_dir_counts)
    wanted = {
        rule.kind: [rule.condition.holds(record, context) for record in records]
        for rule in RULES
        if rule.applies(at, elr_enabled=elr_enabled)
    }
    assert {kind: mask.tolist() for kind, mask in found.items()} == wanted


def test_rows_of_a_slice_are_judged_by_their_own_lists():
    records = [
        PartitionRecord(replicas=(1,), directories=(bytes(16),), isr=(1,)),
        PartitionRecord(replicas=(1, 2), directories=(bytes(16), b"d" * 16), isr=()),
        PartitionRecord(replicas=(2,), directories=(b"e" * 16,), isr=(2,), eligible_leader_replicas=(3,)),
    ]
    target = MetadataVersion.parse("3.7-IV0")
    whole = columns_of(records)
    for start in range(3):
        found = partition_losses(whole.slice(start), target, elr_enabled=False, log_dir_counts={2: 1})
        alone = partition_losses(columns_of(records[start:]), target, elr_enabled=False, log_dir_counts={2: 1})
        assert {kind: mask.tolist() for kind, mask in found.items()} == {
            kind: mask.tolist() for kind, mask in alone.items()
        }


def test_a_record_with_too_many_directories_loses_them():
    """Loading refuses such a record; nothing may crash before that says so."""
    record = PartitionRecord(replicas=(1,), directories=(bytes(16), b"d" * 16), isr=(1,))
    target = MetadataVersion.parse("3.7-IV0")
    found = partition_losses(columns_of([record]), target, elr_enabled=False, log_dir_counts={1: 1})
    assert found["directory_assignment"].tolist() == [True]
