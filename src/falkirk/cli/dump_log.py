"""`falkirk dump-log`: as kafka-dump-log (class DumpLogSegments), and the same as JSON."""

import os
import sys
from collections.abc import Iterable
from typing import Annotated, Final

import typer

from falkirk.cli.console.exit_code import ExitCode
from falkirk.cli.console.failure import WrongUsageError
from falkirk.cli.console.options import JsonOption
from falkirk.cli.console.terminal import print_text
from falkirk.dump.document_dump import DocumentDump
from falkirk.dump.dump_source import DumpSource, dump_source
from falkirk.dump.index_dump import MESSAGE_BYTES_MAX
from falkirk.dump.options import DumpOptions, record_decoder
from falkirk.dump.text_dump import Message, TextDump
from falkirk.dump.tool import DecoderKind, DumpTool, dump_tool
from falkirk.printable import printable
from falkirk.storage.posix_disk import PosixDisk
from falkirk.versions.release import latest_release

_INT32_MAX: Final = 0x7FFFFFFF

FilesOption = Annotated[
    str,
    typer.Option(
        "--files",
        metavar="FILE,...",
        help="Files to dump: .log, .checkpoint, .index, .timeindex, .snapshot, .txnindex.",
    ),
]
PrintDataLogOption = Annotated[
    bool, typer.Option("--print-data-log", help="Print keys and values; implied by every decoder.")
]
DeepIterationOption = Annotated[bool, typer.Option("--deep-iteration", help="Print records, not only batches.")]
OffsetsDecoderOption = Annotated[bool, typer.Option("--offsets-decoder", help="The log is of __consumer_offsets.")]
TransactionDecoderOption = Annotated[
    bool, typer.Option("--transaction-log-decoder", help="The log is of __transaction_state.")
]
MetadataDecoderOption = Annotated[
    bool, typer.Option("--cluster-metadata-decoder", help="The log or snapshot is of __cluster_metadata.")
]
RemoteLogDecoderOption = Annotated[
    bool, typer.Option("--remote-log-metadata-decoder", help="The log is of __remote_log_metadata.")
]
ShareStateDecoderOption = Annotated[
    bool, typer.Option("--share-group-state-decoder", help="The log is of __share_group_state.")
]
KeyDecoderOption = Annotated[
    str | None, typer.Option("--key-decoder-class", metavar="CLASS", help="StringDecoder is the only one there is.")
]
ValueDecoderOption = Annotated[
    str | None, typer.Option("--value-decoder-class", metavar="CLASS", help="StringDecoder is the only one there is.")
]
SkipRecordMetadataOption = Annotated[
    bool, typer.Option("--skip-record-metadata", help="Print keys and values only; control records are left empty.")
]
SkipBatchMetadataOption = Annotated[
    bool, typer.Option("--skip-batch-metadata", help="Print no lines for batches; no tool up to 4.3 has this.")
]
IndexSanityCheckOption = Annotated[
    bool, typer.Option("--index-sanity-check", help="Only check indexes as a broker does when it starts.")
]
VerifyIndexOnlyOption = Annotated[
    bool, typer.Option("--verify-index-only", help="Compare indexes with the log, and print no entries.")
]
MaxMessageSizeOption = Annotated[
    int, typer.Option("--max-message-size", metavar="BYTES", min=0, help="Size of the largest batch that is indexed.")
]
MaxBytesOption = Annotated[
    int,
    typer.Option(
        "--max-bytes", metavar="BYTES", min=0, help="Only look at that many bytes of each log.", show_default=False
    ),
]
ReleaseOption = Annotated[
    str | None,
    typer.Option(
        "--release",
        metavar="RELEASE",
        help="Print as the tool of this Kafka release (3.7 to 4.4), and decode records as it does. Default: 4.3, the "
        "last that was published; with --json the newest.",
        show_default=False,
    ),
]
_STRING_DECODERS: Final = frozenset({"kafka.serializer.StringDecoder", "org.apache.kafka.tools.api.StringDecoder"})


def command(
    *,
    files: FilesOption,
    print_data_log: PrintDataLogOption = False,
    deep_iteration: DeepIterationOption = False,
    offsets_decoder: OffsetsDecoderOption = False,
    transaction_log_decoder: TransactionDecoderOption = False,
    cluster_metadata_decoder: MetadataDecoderOption = False,
    remote_log_metadata_decoder: RemoteLogDecoderOption = False,
    share_group_state_decoder: ShareStateDecoderOption = False,
    key_decoder_class: KeyDecoderOption = None,
    value_decoder_class: ValueDecoderOption = None,
    skip_record_metadata: SkipRecordMetadataOption = False,
    skip_batch_metadata: SkipBatchMetadataOption = False,
    index_sanity_check: IndexSanityCheckOption = False,
    verify_index_only: VerifyIndexOnlyOption = False,
    max_message_size: MaxMessageSizeOption = MESSAGE_BYTES_MAX,
    max_bytes: MaxBytesOption = _INT32_MAX,
    release: ReleaseOption = None,
    json: JsonOption = False,
) -> None:
    """Print what is in log segments, metadata snapshots and the files beside them.

    The text is that of Kafka's dump tool. What is wrong with a file is printed on stderr with file and byte, and the
    exit status is 1 if a file is damaged; a tail that was not written completely is reported, but is no failure.
    """
    wanted = {
        DecoderKind.OFFSETS: offsets_decoder,
        DecoderKind.TRANSACTIONS: transaction_log_decoder,
        DecoderKind.METADATA: cluster_metadata_decoder,
        DecoderKind.REMOTE_LOG: remote_log_metadata_decoder,
        DecoderKind.SHARE_STATE: share_group_state_decoder,
    }
    classes = [name for name in (key_decoder_class, value_decoder_class) if name is not None]
    _refuse_classes(classes)
    tool = dump_tool(latest_release().name if json and release is None else release)
    # Where several are given, Kafka's tool takes the first in this order.
    kind = next((kind for kind, is_wanted in wanted.items() if is_wanted), DecoderKind.STRINGS)
    _refuse_missing(tool, [kind for kind, is_wanted in wanted.items() if is_wanted])
    shows_contents = print_data_log or bool(classes) or any(wanted.values())
    options = DumpOptions(
        decoder=record_decoder(tool, kind),
        is_deep=deep_iteration or shows_contents,
        shows_contents=shows_contents,
        shows_record_metadata=not skip_record_metadata,
        shows_batch_metadata=not skip_batch_metadata,
        bytes_max=None if max_bytes >= _INT32_MAX else max_bytes,
        index_sanity_only=index_sanity_check,
        verify_index_only=verify_index_only,
        message_bytes_max=max_message_size,
    )
    disk = PosixDisk()
    sources = (dump_source(disk, path, _absolute) for path in files.rstrip(",").split(","))
    try:
        is_failure = (_print_document if json else _print_text)(tool, options, sources)
    except BrokenPipeError:
        # The reader closed the pipe; `main` discards what is not written yet.
        is_failure = True
    if is_failure:
        raise typer.Exit(ExitCode.FAILED)


def _refuse_classes(names: list[str]) -> None:
    for name in names:
        if name not in _STRING_DECODERS:
            raise WrongUsageError(f"{name} cannot be used here: keys and values can only be decoded as strings")


def _refuse_missing(tool: DumpTool, kinds: list[DecoderKind]) -> None:
    for kind in kinds:
        if kind not in tool.text.decoders:
            raise WrongUsageError(f"the dump tool of Kafka {tool.release} has no {kind.value}")


def _absolute(path: str) -> str:
    """Return an absolute path as Java's File does: dots are left in it."""
    return os.path.join(os.getcwd(), path)  # noqa: PTH109, PTH118  Path would take some of them out


def _print_text(tool: DumpTool, options: DumpOptions, sources: Iterable[DumpSource]) -> bool:
    """Print to both streams, in order; return whether something is damaged. Raises CorruptFileError and OSError."""
    out, is_terminal = sys.stdout.buffer, sys.stdout.isatty()
    is_failure = False
    try:
        for piece in TextDump(tool, options).dump(sources):
            if isinstance(piece, Message):
                out.flush()
                print_text(piece.text, sys.stderr)
                is_failure |= piece.is_failure
            else:
                out.write((printable(piece) if is_terminal else piece).encode())
    finally:
        out.flush()
    return is_failure


def _print_document(tool: DumpTool, options: DumpOptions, sources: Iterable[DumpSource]) -> bool:
    dump = DocumentDump(tool, options)
    for piece in dump.dump(sources):
        sys.stdout.buffer.write(piece)
    return dump.is_failure
