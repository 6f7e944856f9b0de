"""`falkirk wire`: bytes of Kafka messages to JSON and back, line by line, in the form of the golden files."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from falkirk.cli.console.failure import CommandFailedError
from falkirk.cli.console.options import JsonOption
from falkirk.cli.console.terminal import print_json
from falkirk.printable import printable_json
from falkirk.protocol import codec, json_form, messages
from falkirk.protocol.errors import ProtocolError
from falkirk.protocol.metadata_record import encode_frame
from falkirk.protocol.schema import WireMessage
from falkirk.versions.errors import VersionsError
from falkirk.versions.message_layouts import layout_in
from falkirk.versions.release import Release, all_releases

Line = dict[str, Any]  # Any: JSON

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

FileArgument = Annotated[
    Path | None, typer.Argument(metavar="[FILE]", help="Lines to read; default: standard input.", show_default=False)
]
ReleaseOption = Annotated[
    str | None,
    typer.Option(
        "--release",
        metavar="RELEASE",
        help="Whose layouts and field names to use; default: what the input's head line says, else the newest.",
    ),
]
JsonlOption = Annotated[
    bool, typer.Option("--jsonl", help="Print one compact line per message, on a terminal as well.", show_default=False)
]


@app.command()
def decode(
    file: FileArgument = None, release: ReleaseOption = None, jsonl: JsonlOption = False, json: JsonOption = False
) -> None:
    """Read lines with `name`, `version` and `hex`; add `json`, and `records` and `unknownTags` where there are any.

    A line's other fields are passed through; `headerHex` with `headerVersion` gets its `header` decoded.
    """
    _run(_decode_line, file, release, _printer(jsonl=jsonl, json=json))


@app.command()
def encode(
    file: FileArgument = None, release: ReleaseOption = None, jsonl: JsonlOption = False, json: JsonOption = False
) -> None:
    """Read lines with `name`, `version` and `json`, and `records` and `unknownTags` if any; add `hex`.

    A line's other fields are passed through; metadata and coordinator records get their `frameHex`, and `header` with
    `headerVersion` its `headerHex`.
    """
    _run(_encode_line, file, release, _printer(jsonl=jsonl, json=json))


def _printer(*, jsonl: bool, json: bool) -> Callable[[Iterator[Line]], None]:
    if json:
        return _print_document
    return _print_lines if jsonl or not sys.stdout.isatty() else _print_pretty


def _print_document(lines: Iterator[Line]) -> None:
    print_json(list(lines))


def _print_lines(lines: Iterator[Line]) -> None:
    write, dump = sys.stdout.buffer.write, msgspec.json.Encoder().encode
    for line in lines:
        write(printable_json(dump(line).decode()).encode() + b"\n")


def _print_pretty(lines: Iterator[Line]) -> None:
    for line in lines:
        print_json(line)


def _run(
    work: Callable[[Line, Release], None],
    file: Path | None,
    release: str | None,
    show: Callable[[Iterator[Line]], None],
) -> None:
    chosen = None if release is None else Release.parse(release)
    with ExitStack() as stack:
        source = sys.stdin.buffer if file is None else stack.enter_context(file.open("rb"))
        show(_worked(work, source, chosen))


def _worked(work: Callable[[Line, Release], None], source: Iterable[bytes], chosen: Release | None) -> Iterator[Line]:
    """Convert each line; a head line names the release unless `chosen` does. Raises CommandFailedError."""
    release = chosen or all_releases()[-1]
    parse = msgspec.json.Decoder(Line).decode
    for number, text in enumerate(source, 1):
        if not text.strip():
            continue
        try:
            line = parse(text)
            if "name" not in line and "release" in line:
                release = chosen or Release.parse(line["release"])
            else:
                work(line, release)
        except (ProtocolError, VersionsError, CommandFailedError, msgspec.DecodeError, UnicodeDecodeError) as error:
            sys.stdout.flush()
            raise CommandFailedError(f"line {number}: {error}") from error
        yield line


def _decode_line(line: Line, release: Release) -> None:
    cls, version, layout = _message(line, release)
    message = codec.decode(cls, version, _hex(line, "hex"), layout=layout)
    line["json"] = json_form.to_json(message, version, layout=layout)
    records = json_form.records_of(message, version, layout=layout)
    if records:
        line["records"] = {path: data.hex() for path, data in records.items()}
    tags = json_form.unknown_tags_of(message, version, layout=layout)
    if tags:
        line["unknownTags"] = [[path, tag, data.hex()] for path, tag, data in tags]
    if "headerHex" in line:
        header = codec.decode(_header_class(line), line["headerVersion"], _hex(line, "headerHex"))
        line["header"] = json_form.to_json(header, line["headerVersion"])


def _encode_line(line: Line, release: Release) -> None:
    cls, version, layout = _message(line, release)
    form = line.get("json")
    if not isinstance(form, dict):
        raise CommandFailedError(f"`json` of {line['name']} is not an object")
    message = json_form.from_json(cls, version, form, layout=layout)
    records = {path: bytes.fromhex(data) for path, data in line.get("records", {}).items()}
    json_form.set_records(message, version, records, layout=layout)
    tags = [(path, tag, bytes.fromhex(data)) for path, tag, data in line.get("unknownTags", [])]
    json_form.set_unknown_tags(message, version, tags, layout=layout)
    body = codec.encode(message, version, layout=layout)
    line["hex"] = body.hex()
    frame = _frame(cls, version, is_data=line.get("kind") == "data")
    if frame is not None:
        line["frameHex"] = (frame + body).hex()
    if "header" in line:
        header = json_form.from_json(_header_class(line), line["headerVersion"], line["header"])
        line["headerHex"] = codec.encode(header, line["headerVersion"]).hex()


def _message(line: Line, release: Release) -> tuple[type[WireMessage], int, int | None]:
    name, version = line.get("name"), line.get("version")
    if name not in messages.MODULES:
        raise CommandFailedError(f"no message is called {name!r}")
    if not isinstance(version, int):
        raise CommandFailedError(f"`version` of {name} is {version!r}, not a number")
    return messages.message_class(name), version, layout_in(release, name)


def _hex(line: Line, key: str) -> bytes:
    try:
        return bytes.fromhex(line[key])
    except (KeyError, TypeError, ValueError) as error:
        raise CommandFailedError(f"`{key}` of {line['name']} is not hex digits: {error}") from error


def _header_class(line: Line) -> type[WireMessage]:
    is_request = line["name"].endswith("Request")
    return messages.message_class("RequestHeader" if is_request else "ResponseHeader")


def _frame(cls: type[WireMessage], version: int, *, is_data: bool) -> bytes | None:
    """Return what precedes a record's body in a log; None for a message that is no record.

    Until 4.0 coordinator keys were plain data, and their version was the record's type.
    """
    info = cls.SCHEMA.info
    if info.kind == "coordinator-value" or (info.kind == "coordinator-key" and is_data):
        return version.to_bytes(2, "big")
    if info.key is not None and info.kind == "coordinator-key":
        return info.key.to_bytes(2, "big")
    if info.key is not None and messages.METADATA_RECORDS.get(info.key) == info.name:
        return encode_frame(info.key, version)
    return None
