"""Batches and records for JSON."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING

from falkirk.dump.control_text import control_document
from falkirk.dump.log_reader import records_of
from falkirk.dump.log_text import codec_name, header_key, last_sequence, record_sequence, timestamp_type
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.storage.errors import CorruptFileError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.dump.options import DumpOptions
    from falkirk.protocol.record import Record
    from falkirk.protocol.record_batch import RecordBatch

Fields = dict[str, object]


def batch_document(batch: RecordBatch, file: str, *, is_valid: bool) -> Fields:
    """Return the fields of a batch's header. Raises CorruptFileError for a codec that Kafka does not know."""
    return {
        "position": batch.position,
        "baseOffset": batch.base_offset,
        "lastOffset": batch.last_offset,
        "count": batch.record_count,
        "baseSequence": batch.base_sequence,
        "lastSequence": last_sequence(batch),
        "producerId": batch.producer_id,
        "producerEpoch": batch.producer_epoch,
        "partitionLeaderEpoch": batch.leader_epoch,
        "isTransactional": batch.is_transactional,
        "isControl": batch.is_control,
        "deleteHorizonMs": batch.delete_horizon_ms,
        "timestampType": timestamp_type(batch),
        "maxTimestamp": batch.max_timestamp,
        "size": batch.size,
        "magic": batch.magic,
        "compression": codec_name(batch, file),
        "crc": batch.crc,
        "isValid": is_valid,
    }


def record_documents(batch: RecordBatch, file: str, options: DumpOptions) -> Iterator[Fields]:
    """Yield the records of a batch, up to the first that does not parse. Raises CorruptFileError there."""
    for record in records_of(batch, file):
        document: Fields = {
            "offset": record.offset,
            "timestamp": record.timestamp,
            "keySize": -1 if record.key is None else len(record.key),
            "valueSize": -1 if record.value is None else len(record.value),
            "sequence": record_sequence(record, batch),
            "headers": [{"key": header_key(key), "value": text_or_base64(value)} for key, value in record.headers],
        }
        if batch.is_control:
            document["control"] = _control(record, batch, file)
        elif options.shows_contents:
            _add_contents(document, record, options)
        yield document


def text_or_base64(data: bytes | None) -> object:
    """Return bytes as text if they are UTF-8, else as {"base64": ...}."""
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": b64encode(data).decode()}


def _control(record: Record, batch: RecordBatch, file: str) -> Fields:
    try:
        return control_document(record)
    except RemoteProtocolError as error:
        reason = f"{error.reason}, record of offset {record.offset}, batch of offset {batch.base_offset}"
        raise CorruptFileError(reason, offset=batch.position, file=file) from error


def _add_contents(document: Fields, record: Record, options: DumpOptions) -> None:
    """Add the record decoded, or key and value as they are, with the error."""
    decoded = options.decoder.document(record)
    if decoded is not None and decoded.json is not None:
        document["decoded"] = decoded.json
        return
    if decoded is not None:
        document["error"] = decoded.error
    document["key"] = text_or_base64(record.key)
    document["value"] = text_or_base64(record.value)
