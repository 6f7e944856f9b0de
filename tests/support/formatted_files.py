"""Files of formatted directories, with everything masked that differs from run to run: directory ids, dates, CRCs."""

import base64
import re
from collections.abc import Mapping
from pathlib import PurePosixPath

from falkirk.protocol.record_batch import ATTRIBUTES_AT, CRC_AT, read_batches

_TIMESTAMPS = slice(27, 43)
# Of the first record in a snapshot's first batch, behind lengths, key and the version of the header.
_HEADER_TIMESTAMP = slice(73, 81)
_SAMPLE = "JEXY6aqzQY-32P5TStzaFg"


def masked_files(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return each file as comparable text."""
    ids = [base64.urlsafe_b64decode(found[1] + b"==") for found in map(_DIRECTORY_ID.search, files.values()) if found]
    return {name: _masked(PurePosixPath(name), data, ids) for name, data in files.items()}


def masked_output(text: str) -> str:
    """Return a tool's output with the lines about directories sorted and deduplicated (3.7 repeats them)."""
    text = re.sub(r"directory\.id=[\w-]{22}", "directory.id=ID", text)
    text = re.sub(r"(salt|storedKey|serverKey)=\[[^]]*\]", r"\1=[]", text)
    # The reason why a file cannot be read is in words of ours.
    text = re.sub(r"(Error loading \S+):.*", r"\1", text)
    lines = text.splitlines()
    formatting = sorted({line for line in lines if line.startswith("Formatting ")})
    return "\n".join([line for line in lines if not line.startswith("Formatting ")] + formatting)


_DIRECTORY_ID = re.compile(rb"(?m)^directory\.id=([\w-]{22})$")


def _masked(path: PurePosixPath, data: bytes, ids: list[bytes]) -> str:
    if path.name == "meta.properties":
        text = re.sub(r"(?m)^#[A-Z].*$", "#DATE", data.decode())
        return re.sub(r"(?m)^directory\.id=[\w-]{22}$", "directory.id=ID", text)
    if path.suffix != ".checkpoint":
        return data.hex()
    masked = bytearray(data)
    for number, batch in enumerate(read_batches(data)):
        assert batch.base_timestamp == batch.max_timestamp
        view = memoryview(masked)[batch.position : batch.end_position]
        view[CRC_AT:ATTRIBUTES_AT] = bytes(4)
        view[_TIMESTAMPS] = bytes(16)
        if number == 0 and path.name != "bootstrap.checkpoint":
            view[_HEADER_TIMESTAMP] = bytes(8)
        view.release()
    for directory_id in ids:
        if directory_id != base64.urlsafe_b64decode(_SAMPLE + "=="):
            masked = masked.replace(directory_id, bytes(16))
    return masked.hex()
