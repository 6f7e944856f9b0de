"""`falkirk storage`, besides what it has in common with `falkirk features`."""

import base64
import json
import uuid

import pytest

from falkirk.cli.storage import commands as storage


def test_a_random_uuid_is_written_as_kafka_writes_one(falkirk) -> None:
    first, second = falkirk("storage", "random-uuid"), falkirk("storage", "random-uuid")
    assert (first.exit_code, first.stderr) == (0, "")
    assert first.stdout != second.stdout
    text = first.stdout.removesuffix("\n")
    assert len(text) == 22
    assert uuid.UUID(bytes=base64.urlsafe_b64decode(text + "==")).version == 4


def test_a_random_uuid_as_json_is_one_document(falkirk) -> None:
    document = json.loads(falkirk("storage", "random-uuid", "--json").stdout)
    assert list(document) == ["uuid"]
    assert len(document["uuid"]) == 22


def test_a_random_uuid_never_looks_like_an_option(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = [uuid.UUID(bytes=first + bytes(15)) for first in (b"\xf8", b"\xfb", b"\x04")]
    assert base64.urlsafe_b64encode(drawn[0].bytes).startswith(b"-")
    monkeypatch.setattr(uuid, "uuid4", iter(drawn).__next__)
    assert storage._random_uuid() == "BAAAAAAAAAAAAAAAAAAAAA"


def test_surplus_words_after_random_uuid_are_wrong_usage(falkirk) -> None:
    assert falkirk("storage", "random-uuid", "surplus").exit_code == 2
