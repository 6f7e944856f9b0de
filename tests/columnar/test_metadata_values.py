"""Values by batch, against the row reader and the image that is made of them."""

import pytest
from columnar_cases import log_of, metadata_files
from metadata_files import archive, load_snapshot

from falkirk.columnar.kernels import load_kernels
from falkirk.columnar.metadata_values import metadata_values
from falkirk.columnar.report import ReadReport
from falkirk.metadata.batch import MetadataBatch
from falkirk.metadata.publishing.loader import MetadataLoader
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.record_batch import read_batches


@pytest.mark.parametrize("name", metadata_files())
def test_values_are_those_of_the_row_reader(name, jit):
    data = metadata_files()[name]
    found = list(metadata_values(data, jit=jit))
    batches = list(read_batches(data))
    assert [item[:4] for item in found] == [
        (batch.base_offset, batch.end_offset, batch.leader_epoch, batch.max_timestamp) for batch in batches
    ]
    assert [item.values for item in found] == [
        [] if batch.is_control else [record.value for record in batch.records()] for batch in batches
    ]


def test_a_large_batch_comes_in_pieces(jit, monkeypatch):
    monkeypatch.setattr(type(load_kernels(jit=jit)), "rows_per_block", 4)
    values = [bytes([number]) * number for number in range(10)]
    found = list(metadata_values(log_of(values, leader_epoch=3), jit=jit))
    assert [(item.base_offset, item.end_offset, item.epoch) for item in found] == [(0, 4, 3), (4, 8, 3), (8, 10, 3)]
    assert [value for item in found for value in item.values] == values


def test_the_image_made_of_the_values_is_that_of_the_row_reader(jit):
    for path, data in archive("cluster-4.4.0.tar.gz").items():
        if path.endswith(".checkpoint"):
            image = load_snapshot(data, path.rpartition("/")[2])
            batches = [MetadataBatch(**item._asdict()) for item in metadata_values(data, jit=jit)]
            assert MetadataLoader().load_snapshot(batches, image.provenance) == image


def test_damage_is_told_and_the_rest_is_given(jit):
    good, bad = log_of([b"a", b"b"]), bytearray(log_of([b"c"]))
    bad[-2] ^= 1
    report = ReadReport()
    found = list(metadata_values(good + bytes(bad) + good, jit=jit, report=report))
    assert [item.values for item in found] == [[b"a", b"b"]] * 2
    assert [problem.position for problem in report.problems] == [len(good)]
    with pytest.raises(RemoteProtocolError):
        list(metadata_values(bytes(bad), jit=jit))


def test_nulls_come_as_empty_values(jit):
    assert [item.values for item in metadata_values(log_of([None, b"x"]), jit=jit)] == [[b"", b"x"]]
