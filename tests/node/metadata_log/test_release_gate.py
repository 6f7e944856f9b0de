"""What releases take in of a metadata log: as MetadataRecordSerde and FeatureControlManager do."""

from __future__ import annotations

import pytest

from falkirk.metadata.records.batch import MetadataBatch
from falkirk.metadata.records.errors import RecordError
from falkirk.node.metadata_log.release_gate import ReleaseGate
from falkirk.protocol.messages import (
    METADATA_RECORDS,
    FeatureLevelRecord,
    NoOpRecord,
    RegisterBrokerRecord,
    UnregisterControllerRecord,
    message_class,
)
from falkirk.protocol.metadata_record import encode_metadata_record
from falkirk.versions.release import Release, all_releases

RELEASES = [release for release in all_releases() if release.tables.kraft is not None]


def check(release: str, *values: bytes, is_controller: bool = True) -> None:
    gate = ReleaseGate(Release.parse(release), is_controller=is_controller)
    batch = MetadataBatch(
        base_offset=40, end_offset=40 + len(values), epoch=1, timestamp=0, values=values, source="the.log"
    )
    gate.check([batch])


def level(name: str, feature_level: int) -> bytes:
    return encode_metadata_record(FeatureLevelRecord(name, feature_level), 0)


@pytest.mark.parametrize("release", RELEASES, ids=str)
def test_every_record_that_a_release_has_gets_through_and_no_other(release):
    known = release.kraft.metadata_records
    for record_type, name in METADATA_RECORDS.items():
        cls = message_class(name)
        for version in cls.SCHEMA.info.versions:
            if name == "FeatureLevelRecord":
                continue
            value = encode_metadata_record(cls(), version)
            if record_type in known and version in known[record_type].versions:
                check(release.name, value)
            else:
                with pytest.raises(RecordError, match=rf"Unknown metadata id|Can't read version {version} of {name}"):
                    check(release.name, value)


@pytest.mark.parametrize("release", RELEASES, ids=str)
def test_every_level_that_a_release_supports_gets_through_and_none_beside_it(release):
    for name, levels in release.supported_features().items():
        check(release.name, level(name, levels.lowest), level(name, levels.highest))
        with pytest.raises(RecordError, match=f"only supports versions {levels}"):
            check(release.name, level(name, levels.highest + 1))


def test_a_record_is_named_with_its_place():
    with pytest.raises(
        RecordError, match=r"^UnregisterControllerRecord at offset 41 of the\.log: Unknown metadata id 29$"
    ):
        check("4.3", encode_metadata_record(NoOpRecord(), 0), encode_metadata_record(UnregisterControllerRecord(), 0))


def test_a_version_that_is_too_new_is_named():
    value = encode_metadata_record(RegisterBrokerRecord(), 4)

    with pytest.raises(RecordError, match=r"Can't read version 4 of RegisterBrokerRecord"):
        check("3.9", value)


def test_a_feature_that_the_release_has_never_heard_of_may_be_at_level_0():
    check("3.9", level("share.version", 0))

    with pytest.raises(RecordError, match="only supports versions 0"):
        check("3.9", level("share.version", 1))


def test_brokers_pass_over_features_that_they_do_not_know_but_not_over_levels_of_metadata_version():
    check("3.9", level("share.version", 1), is_controller=False)

    with pytest.raises(RecordError, match="No MetadataVersion with feature level 30"):
        check("3.9", level("metadata.version", 30), is_controller=False)


@pytest.mark.parametrize("value", [b"", b"\x01", b"\x02\x00\x00", b"\x01\xff\xff\xff\xff\xff\xff", b"\x01\x63\x00"])
def test_bytes_that_are_no_record_are_refused(value):
    with pytest.raises(RecordError, match=r"at offset 40 of the\.log"):
        check("4.4", value)
