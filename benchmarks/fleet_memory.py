"""Peak memory of a worker that makes the rows of a whole log, by the size of the file.

Budget: flat. A file of eight times the size takes at most a quarter more memory (a ratio of 0.8 or more).
"""

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from falkirk.pipeline.filesystem import open_location
from falkirk.pipeline.ingest.run_unit import run_units
from falkirk.pipeline.ingest.survey import IngestOptions
from falkirk.pipeline.ingest.unit import Unit, UnitKind
from falkirk.pipeline.made_fleet import FleetShape, make_fleet
from falkirk.pipeline.tables import TABLES
from falkirk.pipeline.warehouse.warehouse import Warehouse
from support.line import print_line

SMALL_PARTITIONS = 400_000
TIMES = 8
BYTES = 1024 * 1024


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        make_fleet(Path(folder) / "fleet", FleetShape(clusters=1, partitions=SMALL_PARTITIONS))
        [snapshot] = Path(folder).rglob("*.checkpoint")
        small, large = Path(folder) / "small.log", Path(folder) / "large.log"
        small.write_bytes(snapshot.read_bytes())
        large.write_bytes(snapshot.read_bytes() * TIMES)
        peaks = {path: peak_bytes(path, folder) for path in (small, large)}
    for path, peak in peaks.items():
        print(f"{path.stem}: {peak / BYTES:.0f} MiB", file=sys.stderr)
    # The line is one of times elsewhere; here both sides are bytes.
    name = f"peak memory of a worker, a file {TIMES} times as large"
    print_line(name, [float(peaks[large])], [float(peaks[small])], budget=0.8, against="the small file (bytes)")


def peak_bytes(path: Path, folder: str) -> int:
    done = subprocess.run([sys.executable, __file__, str(path), folder], capture_output=True, text=True, check=True)
    return int(done.stdout)


def read(path: Path, folder: str) -> None:
    """Do a worker's task in a separate process, and print its peak memory."""
    place = str(Path(folder) / f"warehouse-{path.stem}")
    Warehouse.make(place)
    options = IngestOptions(warehouse=place, tables=frozenset(TABLES), split_bytes=path.stat().st_size)
    unit = Unit(
        kind=UnitKind.METADATA_RECORDS,
        cluster="c",
        location=open_location(str(path)),
        node_id=1,
        end=path.stat().st_size,
    )
    run_units([unit], options)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        read(Path(sys.argv[1]), sys.argv[2])
    else:
        main()
