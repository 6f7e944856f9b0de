"""Growing files as a stream, driven as Spark drives it: offsets go through JSON, each micro-batch is planned anew."""

import gzip
import json
from pathlib import Path

import pytest
from metadata_files import archive
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes

from falkirk.pipeline.errors import PipelineError
from falkirk.pipeline.sources.kafka_segments import KafkaSegmentsSource
from falkirk.pipeline.sources.kraft_log import KraftLogSource
from falkirk.pipeline.sources.request_log import RequestLogSource
from falkirk.pipeline.spark.rows import spark_schema
from falkirk.pipeline.tables.clusters import PROBLEMS
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.record import Record

LOG = "00000000000000000000.log"
REQUESTS = Path(__file__).parents[2] / "data" / "requests" / "log4j-4.3.1.log.gz"


def rows_in(batches):
    return [row for batch in batches for row in batch.to_pylist()]


def whole(source):
    """All rows of the batch reader."""
    reader = source.reader(source.schema())
    return rows_in(batch for piece in reader.partitions() for batch in reader.read(piece))


class Stream:
    """A query on one source class: keeps the checkpoint, and may be restarted."""

    def __init__(self, source_class, path, **options):
        self._source_class = source_class
        self._options = {"path": str(path)} | options
        self._checkpoint = None
        self.batches = 0
        self.restart()

    def restart(self, **options):
        self._options |= options
        source = self._source_class(self._options)
        self.reader = source.streamReader(spark_schema_of(source))
        return self

    def trigger(self, limit=None):
        """One micro-batch; its rows."""
        start = self.reader.initialOffset() if self._checkpoint is None else json.loads(self._checkpoint)
        limit = self.reader.getDefaultReadLimit() if limit is None else limit
        end = json.loads(json.dumps(self.reader.latestOffset(start, limit)))
        if end == start:
            return []
        pieces = self.reader.partitions(start, end)
        rows = rows_in(batch for piece in pieces for batch in self.reader.read(piece))
        self._checkpoint = json.dumps(end)
        self.batches += 1
        return rows

    @property
    def offsets(self):
        return json.loads(self._checkpoint)


def spark_schema_of(source):
    """The schema as Spark passes it, without looking for files."""
    return spark_schema(PROBLEMS if source.settings.problems else source.file_format().table)


def batch(offset, size=10):
    return build_batch([Record(offset, 1000, None, bytes(size))], base_offset=offset)


def sorted_rows(rows):
    return sorted(rows, key=lambda row: (row["source"], row["position"], row.get("offset", 0)))


@pytest.fixture
def partition(tmp_path):
    folder = tmp_path / "d0" / "orders-0"
    folder.mkdir(parents=True)
    return folder


def test_a_log_that_grows_in_steps_with_torn_ends_gives_the_rows_of_the_whole(tmp_path):
    files = archive("cluster-4.3.1.tar.gz")
    name, data = next((path, data) for path, data in files.items() if path.endswith(".log"))
    log = tmp_path / name
    log.parent.mkdir()
    log.write_bytes(b"")
    stream = Stream(KraftLogSource, log.parent, splitBytes="3000")
    rows = []
    steps = range(0, len(data) + 4999, 4999)
    for number, end in enumerate(steps):
        log.write_bytes(data[:end])
        rows += stream.trigger()
        if number % 3 == 0:
            stream.restart()
    assert stream.batches > len(steps) // 2
    assert sorted_rows(rows) == sorted_rows(whole(KraftLogSource({"path": str(log)})))
    assert stream.offsets == {str(log): len(data)}
    assert stream.trigger() == []


def test_request_logs_grow_by_whole_lines(tmp_path):
    data = gzip.decompress(REQUESTS.read_bytes())
    log = tmp_path / "kafka-request.log"
    stream, rows = None, []
    for end in range(7000, len(data) + 7000, 7000):
        log.write_bytes(data[:end])
        stream = stream or Stream(RequestLogSource, tmp_path, splitBytes="2000")
        rows += stream.restart().trigger()
        assert data[: stream.offsets[str(log)]].endswith(b"\n")
    assert rows == whole(RequestLogSource({"path": str(log)}))


def test_new_files_are_picked_up(partition):
    first, second = partition / LOG, partition / "00000000000000000002.log"
    first.write_bytes(batch(0) + batch(1))
    stream = Stream(KafkaSegmentsSource, partition)
    assert [row["offset"] for row in stream.trigger()] == [0, 1]
    second.write_bytes(batch(2))
    first.write_bytes(batch(0) + batch(1) + batch(2))
    assert sorted((row["source"], row["offset"]) for row in stream.trigger()) == [(str(first), 2), (str(second), 2)]
    assert stream.trigger() == []


def test_a_stream_begins_only_where_something_is(tmp_path):
    stream = Stream(RequestLogSource, tmp_path / "*.log")
    with pytest.raises(PipelineError, match=r"\*\.log: matches nothing"):
        stream.trigger()


@pytest.mark.parametrize("limit", [1, 100, 250])
def test_a_limit_of_bytes_makes_micro_batches_that_are_all_of_the_file(partition, limit):
    sizes = [10, 500, 10, 10, 10, 90, 10, 10]
    data = b"".join(batch(offset, size) for offset, size in enumerate(sizes[:7]))
    (partition / LOG).write_bytes(data)
    (partition / "00000000000000000007.log").write_bytes(batch(7))
    stream = Stream(KafkaSegmentsSource, partition, maxBytesPerTrigger=str(limit))
    assert stream.reader.getDefaultReadLimit() == ReadMaxBytes(limit)
    rows = []
    while found := stream.trigger():
        rows += found
        largest = max(len(batch(row["offset"], sizes[row["offset"]])) for row in found)
        assert sum(len(batch(row["offset"], sizes[row["offset"]])) for row in found) < limit + largest
    assert sorted(row["offset"] for row in rows) == list(range(8))
    assert stream.batches > 3


def test_a_limit_of_bytes_takes_one_line_at_least(tmp_path):
    data = gzip.decompress(REQUESTS.read_bytes())
    log = tmp_path / "kafka-request.log"
    log.write_bytes(data[: 20 * 1500])
    stream = Stream(RequestLogSource, log, maxBytesPerTrigger="10")
    rows = []
    while found := stream.trigger():
        assert len(found) == 1
        rows += found
    assert rows == whole(RequestLogSource({"path": str(log)}))


def test_the_engine_may_ask_for_all_in_spite_of_a_limit(partition):
    (partition / LOG).write_bytes(b"".join(batch(offset) for offset in range(9)))
    stream = Stream(KafkaSegmentsSource, partition, maxBytesPerTrigger="1")
    assert len(stream.trigger(ReadAllAvailable())) == 9


def test_available_now_reads_what_was_there_and_then_ends(partition):
    log = partition / LOG
    log.write_bytes(batch(0) + batch(1))
    stream = Stream(KafkaSegmentsSource, partition, maxBytesPerTrigger="1")
    stream.reader.prepareForTriggerAvailableNow()
    log.write_bytes(batch(0) + batch(1) + batch(2))
    (partition / "00000000000000000003.log").write_bytes(batch(3))
    rows = [*stream.trigger(), *stream.trigger(), *stream.trigger()]
    assert [row["offset"] for row in rows] == [0, 1]
    rows = [*stream.restart().trigger(), *stream.trigger()]
    assert [row["offset"] for row in rows] == [2, 3]


def lose(change, partition, **options):
    """A stream that has read a file to which something happens then."""
    log = partition / LOG
    log.write_bytes(batch(0) + batch(1) + batch(2))
    stream = Stream(KafkaSegmentsSource, partition, **options)
    if not options.get("problems"):
        assert len(stream.trigger()) == 3
    else:
        assert stream.trigger() == []
    change(log)
    return stream


def vanish(log):
    log.unlink()


def shrink(log):
    log.write_bytes(batch(0) + batch(1))


GONE = "the file is gone; it was read up to byte"
CUT = "and is shorter or another one now"


@pytest.mark.parametrize(("change", "sentence"), [(vanish, GONE), (shrink, CUT)])
def test_a_file_that_vanished_or_shrank_stops_the_stream_with_its_name(partition, change, sentence):
    stream = lose(change, partition)
    with pytest.raises(PipelineError) as raised:
        stream.trigger()
    assert str(raised.value).startswith(f"{partition / LOG}: ")
    assert sentence in str(raised.value)
    assert str(raised.value).endswith("; with option failOnDataLoss=false the stream goes on")


@pytest.mark.parametrize(("change", "sentence"), [(vanish, GONE), (shrink, CUT)])
def test_where_losses_are_allowed_they_are_rows_of_problems(partition, change, sentence):
    stream = lose(change, partition, problems="true", failOnDataLoss="false")
    [row] = stream.trigger()
    assert (row["kind"], row["source"]) == ("unreadable file", str(partition / LOG))
    assert sentence in row["detail"]
    assert stream.trigger() == []


@pytest.mark.parametrize("split_bytes", ["1", "100000"])
def test_a_file_that_vanishes_while_it_is_read_stops_the_stream_or_is_a_problem(partition, split_bytes):
    log = partition / LOG
    log.write_bytes(batch(0) + batch(1))
    options = {"path": str(partition), "splitBytes": split_bytes}
    found = []
    for more in ({}, {"failOnDataLoss": "false"}, {"failOnDataLoss": "false", "problems": "true"}):
        source = KafkaSegmentsSource(options | more)
        reader = source.streamReader(spark_schema_of(source))
        found.append((reader, reader.latestOffset({}, ReadAllAvailable())))
    log.unlink()
    pieces = [(reader, reader.partitions({}, end)) for reader, end in found]
    with pytest.raises(PipelineError, match=f"^{log}: "):
        rows_in(pieces[0][0].read(pieces[0][1][0]))
    assert rows_in(batch for piece in pieces[1][1] for batch in pieces[1][0].read(piece)) == []
    [row] = rows_in(batch for piece in pieces[2][1] for batch in pieces[2][0].read(piece))
    assert (row["kind"], row["source"]) == ("unreadable file", str(log))


def test_a_log_that_was_cut_goes_on_behind_what_is_left_of_it(partition):
    stream = lose(shrink, partition, failOnDataLoss="false")
    assert stream.trigger() == []
    (partition / LOG).write_bytes(batch(0) + batch(1) + batch(9))
    assert [row["offset"] for row in stream.trigger()] == [9]


def test_a_file_that_comes_back_is_read_from_its_start(partition):
    stream = lose(vanish, partition, failOnDataLoss="false")
    assert stream.trigger() == []
    assert stream.offsets == {}
    (partition / LOG).write_bytes(batch(5))
    assert [row["offset"] for row in stream.trigger()] == [5]


@pytest.mark.parametrize("lines", [1, 3, 9])
def test_a_request_log_that_was_rotated_is_read_from_its_start(tmp_path, lines):
    text = gzip.decompress(REQUESTS.read_bytes()).splitlines(keepends=True)
    log = tmp_path / "kafka-request.log"
    log.write_bytes(b"".join(text[:3]))
    stream = Stream(RequestLogSource, log, failOnDataLoss="false")
    assert len(stream.trigger()) == 3
    log.write_bytes(b"".join(text[40 : 40 + lines]))
    rows = [*stream.trigger(), *stream.trigger()]
    assert [row["position"] for row in rows][:1] == [0]
    assert len(rows) == lines


def test_damage_is_passed_and_told_while_a_torn_end_is_waited_for(partition):
    damaged = bytearray(batch(1))
    damaged[16] = 77
    log = partition / LOG
    log.write_bytes(batch(0) + bytes(damaged))
    records = Stream(KafkaSegmentsSource, partition)
    problems = Stream(KafkaSegmentsSource, partition, problems="true")
    assert [row["offset"] for row in records.trigger()] == [0]
    [row] = problems.trigger()
    assert (row["kind"], row["position"]) == ("corrupt batch", len(batch(0)) + 16)
    log.write_bytes(batch(0) + bytes(damaged) + batch(2) + batch(3)[:40])
    assert [row["offset"] for row in records.trigger()] == [2]
    assert problems.trigger() == []
    log.write_bytes(batch(0) + bytes(damaged) + batch(2) + batch(3))
    assert [row["offset"] for row in records.trigger()] == [3]


def test_a_snapshot_is_complete_so_its_torn_end_is_told(tmp_path):
    snapshot = tmp_path / "00000000000000000005-0000000001.checkpoint"
    snapshot.write_bytes(batch(0) + batch(1)[:30])
    stream = Stream(KraftLogSource, snapshot, problems="true")
    kinds = [row["kind"] for row in stream.trigger()]
    assert kinds[-1] == "torn tail"
