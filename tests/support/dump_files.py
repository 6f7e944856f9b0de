"""Small real and odd files of every kind, with the output of Kafka's dump tools.

`files.zip` holds logs, snapshots and indexes cut out of real directories of five releases, and odd ones derived from
them: bytes changed, removed, added; headers and strings of all sorts. An answer is one run of a real tool: its release,
arguments, exit status, stdout, and stderr without stack traces and logging (paths made relative).
"""

import gzip
import json
import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from falkirk.storage.memory_disk import MemoryDisk

DUMP = Path(__file__).parent.parent / "data" / "dump"


@dataclass(frozen=True)
class Answer:
    tool: str
    arguments: tuple[str, ...]
    status: int
    stdout: str
    stderr: tuple[str, ...]

    def __str__(self) -> str:
        files = self.arguments[self.arguments.index("--files") + 1]
        options = [word for word in self.arguments if word not in ("--files", files)]
        return " ".join([self.tool, *options, files.split(",")[0]])


@cache
def answers() -> tuple[Answer, ...]:
    with gzip.open(DUMP / "answers.jsonl.gz", "rt", encoding="utf-8", newline="\n") as file:
        lines = [json.loads(line) for line in file]
    return tuple(
        Answer(line["tool"], tuple(line["arguments"]), line["status"], line["stdout"], tuple(line["stderr"]))
        for line in lines
    )


def extract_files(directory: Path) -> None:
    with zipfile.ZipFile(DUMP / "files.zip") as archive:
        archive.extractall(directory)


@cache
def dump_file(name: str) -> bytes:
    with zipfile.ZipFile(DUMP / "files.zip") as archive:
        return archive.read(name)


def disk_with(files: dict[str, bytes]) -> MemoryDisk:
    disk = MemoryDisk()
    for path, data in files.items():
        disk.make_directory("/" + path.rpartition("/")[0])
        disk.write(path, [data])
    return disk
