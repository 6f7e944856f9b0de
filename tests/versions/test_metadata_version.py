"""metadata.version: names, levels, and what a writer may write at each."""

import pytest

from falkirk.versions.errors import UnknownMetadataVersionError
from falkirk.versions.metadata_version import (
    FLOOR,
    LATEST_OF_RELEASE,
    LATEST_PRODUCTION,
    METADATA_VERSIONS,
    MetadataVersion,
)

ABILITY_PROPERTIES = [
    ("no_op_record_supported", "3.3-IV1"),
    ("broker_registration_change_record_supported", "3.3-IV2"),
    ("in_controlled_shutdown_supported", "3.3-IV3"),
    ("migration_supported", "3.4-IV0"),
    ("scram_supported", "3.5-IV2"),
    ("metadata_transaction_supported", "3.6-IV1"),
    ("delegation_token_supported", "3.6-IV2"),
    ("controller_registration_supported", "3.7-IV0"),
    ("directory_assignment_supported", "3.7-IV2"),
    ("elr_supported", "4.0-IV1"),
    ("cordoned_log_dirs_supported", "4.3-IV0"),
    ("cidr_acl_supported", "4.4-IV1"),
    ("controller_unregistration_supported", "4.4-IV2"),
]


def test_levels_rise_by_one_from_the_first_kraft_release() -> None:
    assert [version.level for version in METADATA_VERSIONS] == list(range(1, 35))
    assert (METADATA_VERSIONS[0].name, METADATA_VERSIONS[-1].name) == ("3.0-IV1", "4.5-IV0")


def test_names_sort_like_levels() -> None:
    def key(version: MetadataVersion) -> list[int]:
        return [int(part) for part in version.name.replace("-IV", ".").split(".")]

    assert sorted(METADATA_VERSIONS, key=key) == list(METADATA_VERSIONS)


@pytest.mark.parametrize("version", METADATA_VERSIONS, ids=str)
def test_a_metadata_version_is_found_by_name_and_by_level(version: MetadataVersion) -> None:
    assert MetadataVersion.parse(version.name) is version
    assert MetadataVersion.parse(str(version.level)) is version
    assert MetadataVersion.of_level(version.level) is version


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("3.0", "3.0-IV1"),
        ("3.6", "3.6-IV2"),
        ("3.7", "3.7-IV4"),
        ("3.7.2", "3.7-IV4"),
        ("3.8", "3.8-IV0"),
        ("3.9", "3.9-IV0"),
        ("4.0", "4.0-IV3"),
        ("4.1", "4.1-IV1"),
        ("4.2", "4.2-IV1"),
        ("4.3.1", "4.3-IV0"),
        ("4.4", "4.4-IV2"),
    ],
)
def test_a_release_means_its_latest_production_level(text: str, name: str) -> None:
    assert MetadataVersion.parse(text).name == name


@pytest.mark.parametrize(
    "text",
    [
        *("", "4.5", "2.8", "9.9", "0", "35", "-1", "3.9-IV1", "3.9-iv0", " 3.9", "v3.9", "3.9.1.1", "²", "3.²"),
        pytest.param("9" * 5_000, id="digits"),
    ],
)
def test_what_names_no_level_is_refused(text: str) -> None:
    with pytest.raises(UnknownMetadataVersionError, match=r"known are 3\.0-IV1"):
        MetadataVersion.parse(text)


def test_an_unknown_level_is_refused_in_one_sentence() -> None:
    with pytest.raises(UnknownMetadataVersionError) as refused:
        MetadataVersion.of_level(35)
    assert str(refused.value) == (
        "unknown metadata.version level 35: known are 3.0-IV1 (1) to 4.5-IV0 (34), and releases 3.0 to 4.4"
    )


def test_only_the_level_of_a_coming_release_is_unstable() -> None:
    assert [version.name for version in METADATA_VERSIONS if version.unstable] == ["4.5-IV0"]
    assert LATEST_PRODUCTION.name == "4.4-IV2"
    assert "4.5" not in LATEST_OF_RELEASE


def test_the_floor_is_where_controllers_begin_to_register() -> None:
    assert (FLOOR.name, FLOOR.level) == ("3.7-IV0", 15)
    assert FLOOR.controller_registration_supported
    assert not MetadataVersion.of_level(FLOOR.level - 1).controller_registration_supported


@pytest.mark.parametrize(("ability", "since"), ABILITY_PROPERTIES)
def test_an_ability_begins_at_its_level_and_stays(ability: str, since: str) -> None:
    first = MetadataVersion.parse(since)
    for version in METADATA_VERSIONS:
        assert getattr(version, ability) == (version >= first), version


def test_the_leader_epoch_bump_is_the_one_thing_that_ends() -> None:
    bumping = [version.name for version in METADATA_VERSIONS if version.leader_epoch_bump_required_on_isr_shrink]
    assert bumping[-1] == "3.5-IV2"
    assert len(bumping) == 11


def test_record_versions_change_where_the_log_learned_something() -> None:
    changes = {}
    before: tuple[int | None, ...] | None = None
    for version in METADATA_VERSIONS:
        now = (
            version.register_broker_record_version,
            version.partition_record_version,
            version.partition_change_record_version,
            version.broker_registration_change_record_version_max,
            version.register_controller_record_version,
        )
        if now != before:
            changes[version.name] = now
        before = now
    assert changes == {
        "3.0-IV1": (0, 0, 0, 0, None),
        "3.3-IV3": (1, 0, 0, 1, None),
        "3.4-IV0": (2, 0, 0, 1, None),
        "3.7-IV0": (2, 0, 0, 1, 0),
        "3.7-IV2": (3, 1, 1, 2, 0),
        "4.0-IV1": (3, 2, 2, 2, 0),
        "4.3-IV0": (4, 2, 2, 3, 0),
    }


def test_levels_that_change_no_metadata_say_so() -> None:
    unchanged = [version.name for version in METADATA_VERSIONS if not version.changes_metadata and version >= FLOOR]
    assert unchanged == [
        *("3.7-IV1", "3.7-IV3", "3.7-IV4", "3.8-IV0", "3.9-IV0", "4.0-IV0", "4.0-IV2", "4.0-IV3"),
        *("4.1-IV0", "4.1-IV1", "4.2-IV0", "4.2-IV1", "4.4-IV0", "4.5-IV0"),
    ]


def test_followers_send_the_requests_of_the_level() -> None:
    sent = {
        name: (version.fetch_request_version, version.list_offsets_request_version)
        for name in ("3.7-IV3", "3.7-IV4", "3.9-IV0", "4.0-IV3", "4.1-IV1", "4.4-IV2")
        for version in [MetadataVersion.parse(name)]
    }
    assert sent == {
        "3.7-IV3": (15, 8),
        "3.7-IV4": (16, 8),
        "3.9-IV0": (17, 9),
        "4.0-IV3": (17, 10),
        "4.1-IV1": (18, 10),
        "4.4-IV2": (18, 11),
    }


def test_metadata_versions_are_ordered_and_hashable() -> None:
    low, high = MetadataVersion.parse("3.7"), MetadataVersion.parse("4.0")
    assert low < high <= max(METADATA_VERSIONS)
    assert len({low, high, MetadataVersion.parse("19")}) == 2
    assert low != "3.7-IV4"
