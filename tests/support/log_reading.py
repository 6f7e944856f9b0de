"""Logs read through the pipeline's readers: whole, or in small ranges and chunks as several workers would."""

from falkirk.columnar.report import ReadReport
from falkirk.pipeline.filesystem import Location
from falkirk.pipeline.readers.chunks import iter_chunks
from falkirk.pipeline.readers.origin import Origin
from falkirk.pipeline.readers.problem_rows import problem_rows
from falkirk.pipeline.readers.splits import split_file
from falkirk.storage.memory_disk import MemoryDisk

TINY = 900
RANGES = 8


def place(path, data):
    disk = MemoryDisk()
    disk.make_directory(path.rpartition("/")[0] or "/")
    disk.write(path, [data])
    return Location(disk=disk, path=path, uri=path)


def ranges_of(data):
    """Return sizes of ranges and chunks that cut a log into some; the least size is for few batches."""
    size = max(TINY, len(data) // RANGES)
    return {"split_bytes": size, "chunk_bytes": max(TINY, size // 2)}


def read_log(read, path, data, *, split_bytes=None, chunk_bytes=1 << 25, node_id=1):
    """Return the rows in file order, and the rows of problems."""
    location = place(path, data)
    ranges = [(0, len(data))] if split_bytes is None else split_file(location, split_bytes)
    origin = Origin(source=path, node_id=node_id)
    rows, problems = [], []
    for start, end in ranges:
        report = ReadReport()
        chunks = iter_chunks(location.disk, path, report, start=start, end=end, chunk_bytes=chunk_bytes)
        for batch in read(chunks, origin, report):
            batch.validate(full=True)
            rows += batch.to_pylist()
        problems += problem_rows(report, origin)
    return sorted(rows, key=lambda row: (row["position"], row["offset"])), problems


def summed(problems):
    """Return problems with the counts of unknown records summed, since each range counts its own."""
    found = {}
    for problem in problems:
        key = (problem["kind"], problem["detail"]) if problem["kind"] == "unknown record" else (problem["position"],)
        first = found.setdefault(key, problem | {"count": 0})
        first["count"] += problem["count"]
    return list(found.values())
