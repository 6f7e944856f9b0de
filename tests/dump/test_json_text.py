import gzip
import json

import pytest
from golden_lines import GOLDEN, RELEASES

from falkirk.dump.json_text import json_writer
from falkirk.dump.wire_text import UNUSUAL, wire_text
from falkirk.protocol import codec, messages
from falkirk.versions.message_layouts import layout_in
from falkirk.versions.release import Release

KINDS = ("metadata", "coordinator-key", "coordinator-value", "data")


def golden_texts(release):
    """Yield (line, its JSON as Kafka and Jackson wrote it) of the messages that stand in logs."""
    with gzip.open(GOLDEN / f"golden-{release}.jsonl.gz", "rt", encoding="utf-8") as file:
        for text in file:
            line = json.loads(text)
            if line.get("kind") in KINDS and line.get("json"):
                yield line, text.partition('"json":')[2]


def parts(release, line):
    return messages.message_class(line["name"]), line["version"], layout_in(Release.parse(release), line["name"])


@pytest.mark.parametrize("release", RELEASES)
def test_text_is_what_kafkas_converters_and_jackson_write(release):
    count = 0
    for line, text in golden_texts(release):
        cls, version, layout = parts(release, line)
        message = codec.decode(cls, version, bytes.fromhex(line["hex"]), layout=layout)
        ours = json_writer(cls, version, layout=layout)(message)
        assert text.startswith((ours + ",", ours + "}")), line["name"]
        count += 1
    assert count > 300


@pytest.mark.parametrize("release", RELEASES)
def test_the_fast_way_writes_the_same_or_declines(release):
    declined = taken = 0
    for line, text in golden_texts(release):
        data = bytes.fromhex(line["hex"])
        try:
            ours, end = wire_text(*parts(release, line))(data, 0)
        except UNUSUAL:
            declined += line["mode"] not in ("tags", "big")
            continue
        assert text.startswith((ours + ",", ours + "}")), line["name"]
        assert end == len(data)
        taken += 1
    # What Kafka writes of its own is taken; it has unknown tags and sizes of two bytes rarely.
    assert declined < taken / 20


@pytest.mark.slow
def test_the_fast_way_declines_every_message_that_is_cut_off():
    cut = 0
    for line, _ in golden_texts("4.3.1"):
        data = bytes.fromhex(line["hex"])
        if line["mode"] == "full" and len(data) < 400:
            run = wire_text(*parts("4.3.1", line))
            for end in range(len(data)):
                with pytest.raises(UNUSUAL):
                    run(data[:end], 0)
                cut += 1
    assert cut > 1000


def test_bytes_can_be_written_by_something_else():
    cls = messages.message_class("GroupMetadataValue")
    member = messages.message_class("GroupMetadataValue").SCHEMA.fields[-1].type
    value = cls(protocol_type="consumer", members=[member(subscription=b"\x00", assignment=b"\x01")])
    writers = {"assignment": lambda data: f"[{data[0]}]"}
    assert '"subscription":"AA==","assignment":[1]}' in json_writer(cls, 3, bytes_writers=writers)(value)
    assert '"subscription":"AA==","assignment":"AQ=="}' in json_writer(cls, 3)(value)
