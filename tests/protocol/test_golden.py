import json

import pytest
from golden_lines import RELEASES, golden_lines, layout_in

from falkirk.protocol import codec, json_form, messages
from falkirk.protocol.codec.layout import message_layout
from falkirk.protocol.codec.reference import decode_reference, encode_reference
from falkirk.protocol.coordinator_record import decode_key, decode_value, encode_key, encode_value
from falkirk.protocol.headers import request_header_version, response_header_version
from falkirk.protocol.metadata_record import decode_metadata_record, encode_metadata_record

# Lines of each file, so that a file that came out short cannot pass.
LINES = {"3.7.2": 4579, "3.9.1": 5137, "4.0.0": 4662, "4.3.1": 5148, "4.4.0": 5269}


@pytest.mark.slow
@pytest.mark.parametrize("release", RELEASES)
def test_every_golden_line_decodes_to_its_json_and_encodes_to_its_bytes(release):
    count = 0
    for line in golden_lines(release):
        where = (line["name"], line["version"], line["mode"])
        cls, version, layout = messages.message_class(line["name"]), line["version"], layout_in(release, line["name"])
        data = bytes.fromhex(line["hex"])
        message = codec.decode(cls, version, data, layout=layout)
        assert codec.encode(message, version, layout=layout) == data, where

        form = json_form.to_json(message, version, layout=layout)
        if line.get("json") is not None:  # 3.7.2 has no JSON form of coordinator records
            assert form == line["json"], where
        records = json_form.records_of(message, version, layout=layout)
        assert {path: value.hex() for path, value in records.items()} == line.get("records", {}), where
        tags = json_form.unknown_tags_of(message, version, layout=layout)
        assert [[path, tag, value.hex()] for path, tag, value in tags] == line.get("unknownTags", []), where

        again = json_form.from_json(cls, version, json.loads(json.dumps(form)), layout=layout)
        json_form.set_records(again, version, records, layout=layout)
        json_form.set_unknown_tags(again, version, tags, layout=layout)
        assert codec.encode(again, version, layout=layout) == data, where
        count += 1
    assert count == LINES[release]


@pytest.mark.slow
@pytest.mark.parametrize("release", RELEASES)
def test_the_reference_codec_agrees_on_every_golden_line(release):
    for line in golden_lines(release):
        where = (line["name"], line["version"], line["mode"])
        layout = layout_in(release, line["name"])
        cls, version, data = messages.message_class(line["name"]), line["version"], bytes.fromhex(line["hex"])
        resolved = message_layout(cls, version, layout)
        message, end = decode_reference(resolved, data, 0)
        assert end == len(data), where
        assert message == codec.decode(cls, version, data, layout=layout), where
        assert encode_reference(resolved, message) == data, where


@pytest.mark.parametrize("release", RELEASES)
def test_every_golden_header_has_the_version_we_say_and_its_bytes(release):
    count = 0
    for line in golden_lines(release):
        if "headerHex" not in line:
            continue
        rule = request_header_version if line["kind"] == "request" else response_header_version
        assert rule(line["apiKey"], line["version"]) == line["headerVersion"], (line["name"], line["version"])
        name = "RequestHeader" if line["kind"] == "request" else "ResponseHeader"
        header = codec.decode(messages.message_class(name), line["headerVersion"], bytes.fromhex(line["headerHex"]))
        assert json_form.to_json(header, line["headerVersion"]) == line["header"]
        assert codec.encode(header, line["headerVersion"]).hex() == line["headerHex"]
        count += 1
    assert count > 500


@pytest.mark.parametrize("release", RELEASES)
def test_every_golden_record_frame_is_read_and_written(release):
    count = 0
    for line in golden_lines(release):
        if "frameHex" not in line:
            continue
        frame, body = bytes.fromhex(line["frameHex"]), bytes.fromhex(line["hex"])
        message = codec.decode(messages.message_class(line["name"]), line["version"], body,
                               layout=layout_in(release, line["name"]))  # fmt: skip
        if line["kind"] == "metadata":
            assert decode_metadata_record(frame) == (message, line["version"])
            assert encode_metadata_record(message, line["version"]) == frame
        elif line["name"].endswith("Key"):
            tables = (messages.GROUP_COORDINATOR_KEYS, messages.TRANSACTION_COORDINATOR_KEYS,
                      messages.SHARE_COORDINATOR_KEYS)  # fmt: skip
            [keys] = [table for table in tables if line["name"] in table.values()]
            # OffsetCommitKey has two types, 0 and 1, that were its versions until 4.0.
            if not (line["name"] == "OffsetCommitKey" and frame[:2] == b"\0\0"):
                assert decode_key(keys, frame) == message
                assert encode_key(message) == frame
        else:
            values = {0: line["name"]}
            layout = layout_in(release, line["name"])
            assert decode_value(values, 0, frame, layout=layout) == (message, line["version"])
            assert encode_value(message, line["version"], layout=layout) == frame
        count += 1
    assert count > 300
