"""The notation folds to whole releases, and says nothing twice."""

from collections.abc import Iterator
from dataclasses import fields, replace

import pytest

from falkirk.versions.metadata_version_rows import METADATA_VERSION_ROWS
from falkirk.versions.notation import Api, MetadataVersions, Record, ReleaseChanges
from falkirk.versions.release import all_releases
from falkirk.versions.release_history import ReleaseTables, fold, fold_next
from falkirk.versions.releases import RELEASE_CHANGES

TABLES = ("metadata_records", "control_records", "group_records", "transaction_records", "share_records")


def without_one_row(changes: ReleaseChanges, part: str) -> Iterator[ReleaseChanges]:
    rows = getattr(changes, part)
    for place in range(len(rows)):
        yield replace(changes, **{part: rows[:place] + rows[place + 1 :]})


def last(changes: tuple[ReleaseChanges, ...]) -> ReleaseTables:
    return list(fold(changes))[-1]


def before(changes: ReleaseChanges) -> ReleaseTables | None:
    return next((release.tables for release in all_releases() if release.name == changes.since), None)


@pytest.mark.parametrize("changes", RELEASE_CHANGES, ids=[changes.release for changes in RELEASE_CHANGES])
def test_every_row_changes_the_release_that_it_stands_in(changes: ReleaseChanges) -> None:
    whole = fold_next(before(changes), changes)
    for part in ("apis", "features", *TABLES):
        for poorer in without_one_row(changes, part):
            assert fold_next(before(changes), poorer) != whole, f"{changes.release}: a row of {part} says nothing new"


@pytest.mark.parametrize("changes", RELEASE_CHANGES, ids=[changes.release for changes in RELEASE_CHANGES])
def test_every_value_of_an_api_row_says_something_new(changes: ReleaseChanges) -> None:
    whole = fold_next(before(changes), changes)
    for at, row in enumerate(changes.apis):
        for field in fields(Api):
            if field.name in {"key", "name", "stable", "deprecated"} or getattr(row, field.name) is None:
                continue
            poorer = (*changes.apis[:at], replace(row, **{field.name: None}), *changes.apis[at + 1 :])
            folded = fold_next(before(changes), replace(changes, apis=poorer))
            assert folded.apis != whole.apis, f"{changes.release}: {row.name} restates its {field.name}"


def test_releases_that_were_read_for_their_apis_only_have_no_more() -> None:
    for changes in RELEASE_CHANGES:
        api_ranges_only = changes.read_from == "api ranges"
        assert (changes.metadata_versions is None) == api_ranges_only
        if api_ranges_only:
            assert not any(getattr(changes, part) for part in ("features", *TABLES))


def test_a_release_out_of_order_is_our_own_mistake() -> None:
    with pytest.raises(AssertionError, match=r"4\.4\.0 follows 4\.3\.1, not None"):
        list(fold(RELEASE_CHANGES[-1:]))


def test_a_row_that_gives_versions_restates_what_is_stable() -> None:
    first = ReleaseChanges(
        release="1", since=None, read_from="api ranges", apis=(Api(1, "Fetch", "0-4", stable="0-3", deprecated="0"),)
    )
    second = ReleaseChanges(release="2", since="1", read_from="api ranges", apis=(Api(1, "Fetch", "0-5"),))
    unstable, stable = fold((first, second))
    assert str(unstable.apis[1].stable_versions) == "0-3"
    assert str(stable.apis[1].stable_versions) == "0-5"
    assert stable.apis[1].deprecated_versions is None


def test_a_record_type_can_be_taken_away_from_a_coordinator_only() -> None:
    versions = MetadataVersions(minimum="3.3-IV3", latest_production="4.0-IV3", latest_testing="4.1-IV0")
    rows = (Record(9, "ShareGroupPartitionMetadata", "0", flexible=0),)
    first = ReleaseChanges(
        release="1", since=None, read_from="jars", metadata_versions=versions, group_records=rows, metadata_records=rows
    )
    gone = (replace(rows[0], versions="none", flexible=None),)
    second = ReleaseChanges(release="2", since="1", read_from="jars", metadata_versions=versions, group_records=gone)
    assert last((first, second)).kraft.group_records == {}
    with pytest.raises(AssertionError, match="old logs hold it"):
        last((first, replace(second, metadata_records=gone)))


def test_metadata_version_rows_name_each_version_once_and_levels_end_the_list() -> None:
    names = [row.name for row in METADATA_VERSION_ROWS]
    assert len(set(names)) == len(names)
    levels = [row.level for row in METADATA_VERSION_ROWS]
    assert levels == [None] * levels.count(None) + list(range(1, 35))
