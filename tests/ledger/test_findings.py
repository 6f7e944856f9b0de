"""Findings and losses are values: their JSON has every field, and can be read back."""

import msgspec
import pytest

from falkirk.ledger.findings import Blocker, BlockerKind, Conversion, ConversionKind, LedgerWarning, WarningKind
from falkirk.ledger.reported_loss import ReportedLoss

LOSS = ReportedLoss(
    kind="cidr_allow_acl",
    key="ACL A1",
    key_fields={"id": "A1"},
    record="AccessControlEntryRecord",
    offset=7,
    source="f.log",
    before={"host": "10.0.0.0/8"},
    after=None,
    detail="ACL A1: the address range is taken for a host",
)


@pytest.mark.parametrize(
    "value",
    [
        LOSS,
        Blocker(kind=BlockerKind.NO_MAJORITY, fields={}, text="no majority"),
        Conversion(kind=ConversionKind.ELR_TO_ISR, fields={"isr": [1]}, text="ISR"),
        LedgerWarning(kind=WarningKind.MISSING_NODES, fields={"node_ids": [1, 2]}, text="not here"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_json_of_a_value_reads_back_as_the_value(value):
    assert msgspec.convert(value.as_json(), type(value)) == value
    assert msgspec.json.decode(msgspec.json.encode(value), type=type(value)) == value


def test_a_kind_is_one_of_those_that_are_listed():
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"kind": "other", "fields": {}, "text": ""}, Blocker)


def test_the_meaning_of_a_loss_is_its_sentence_without_the_object():
    assert LOSS.meaning == "the address range is taken for a host"
