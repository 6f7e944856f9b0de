"""Headers and flexible versions of an API."""

from falkirk.versions.release import Release


def headers(release: str, key: int) -> list[tuple[int, int]]:
    api = Release.parse(release).apis[key]
    assert api.versions is not None
    return [(api.request_header_version(version), api.response_header_version(version)) for version in api.versions]


def test_headers_become_flexible_with_the_body() -> None:
    metadata = headers("4.4", 3)
    assert metadata[:9] == [(1, 0)] * 9
    assert metadata[9:] == [(2, 1)] * 5


def test_an_answer_to_api_versions_never_has_a_flexible_header() -> None:
    assert headers("4.4", 18) == [(1, 0), (1, 0), (1, 0), (2, 0), (2, 0), (2, 0)]


def test_the_first_controlled_shutdown_had_no_client_id() -> None:
    assert headers("3.9", 7) == [(0, 0), (1, 0), (1, 0), (2, 1)]


def test_an_api_without_flexible_versions_stays_as_it_was() -> None:
    assert headers("4.4", 17) == [(1, 0), (1, 0)]
    assert not Release.parse("4.4").apis[17].is_flexible(1)


def test_the_first_flexible_version_is_known_though_a_release_no_longer_has_it() -> None:
    alter_partition = Release.parse("4.0").apis[56]
    assert str(alter_partition.versions) == "2-3"
    assert alter_partition.flexible_from == 0
