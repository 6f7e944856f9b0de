"""Records without columns of their own, as messages."""

import pytest
from columnar_cases import log_of, metadata_files

from falkirk.columnar.metadata_frames import metadata_frames
from falkirk.columnar.metadata_tables import METADATA_TABLES, OTHER_TYPES
from falkirk.columnar.other_records import other_messages
from falkirk.columnar.record_frames import iter_record_blocks
from falkirk.columnar.report import ReadReport
from falkirk.protocol.messages import FeatureLevelRecord, NoOpRecord, TopicRecord
from falkirk.protocol.metadata_record import decode_metadata_record, encode_metadata_record
from falkirk.protocol.record_batch import read_batches


def messages_of(data, report):
    for block in iter_record_blocks(data, report):
        for other in other_messages(block, metadata_frames(block, report), OTHER_TYPES, report):
            yield int(block.offset[other.row]), other


@pytest.mark.slow
def test_every_message_of_a_real_log_comes_in_order_as_the_row_codec_reads_it():
    seen = set()
    for name, data in metadata_files().items():
        wanted = [
            (record.offset, *decode_metadata_record(record.value))
            for batch in read_batches(data)
            if not batch.is_control
            for record in batch.records()
        ]
        wanted = [row for row in wanted if type(row[1]).__name__ not in METADATA_TABLES]
        found = list(messages_of(data, ReadReport()))
        assert [(offset, other.message, other.version) for offset, other in found] == wanted, name
        assert all(type(other.message).SCHEMA.info.key == other.record_type for _, other in found)
        seen |= {type(message).__name__ for _, message, _ in wanted}
    assert len(seen) > 10


def test_a_message_that_does_not_parse_is_told_and_the_others_are_given():
    values = [
        encode_metadata_record(FeatureLevelRecord("metadata.version", 30), 0)[:-3],
        encode_metadata_record(TopicRecord("orders", bytes(16)), 0),
        encode_metadata_record(NoOpRecord(), 0),
    ]
    report = ReadReport()
    assert [(offset, other.message) for offset, other in messages_of(log_of(values), report)] == [(2, NoOpRecord())]
    assert [(problem.kind, problem.offset) for problem in report.problems] == [("bad record", 0)]
