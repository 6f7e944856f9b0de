"""Which tier of the Makefile a test belongs to: marks follow from the fixtures it uses.

check         pure, not slow
test          pure: starts neither Java, Maven nor a browser
test-kafka    starts real Kafka, Spark or ZooKeeper
test-browser  opens pages in Chromium
test-all      everything, the full matrices too
"""

import pytest

# Whatever starts a JVM bears one of these.
JVM_MARKS = ("interop", "spark", "zookeeper")
# Fixtures that start one, or a browser.
MARK_OF_FIXTURE = {
    "browser": "browser",
    "clusters": "interop",
    "kafka_turn": "interop",
    "module_clusters": "interop",
    "tools_api": "interop",
    "spark": "spark",
    "zookeeper_process": "zookeeper",
}
# Groups that take longest start first, so that all processes end at about the same time.
LONGEST_FIRST = (
    "spark",
    "test_demo",
    "test_real_brokers",
    "test_clients",
    "test_group_clients",
    "test_rolls",
    "test_mixed_brokers",
    "test_downgrade",
    "test_spark",
    "test_real_brokers_dynamic",
    "test_live_downgrade",
    "test_kip_915",
    "test_security",
    "test_groups",
    "test_features",
    "zookeeper",
)


def uses_jvm(item: pytest.Item) -> bool:
    """True if the test may start Java or Maven."""
    return any(item.get_closest_marker(mark) for mark in JVM_MARKS)


def set_marks(items: list[pytest.Item]) -> None:
    """Add the marks that follow from fixtures, and the groups whose tests share a process."""
    for item in items:
        for fixture in MARK_OF_FIXTURE.keys() & set(getattr(item, "fixturenames", ())):
            item.add_marker(MARK_OF_FIXTURE[fixture])
        group = _group(item)
        if group is not None:
            item.add_marker(pytest.mark.xdist_group(group))


def _group(item: pytest.Item) -> str | None:
    # There is one Spark session and one ZooKeeper for all who use the fixtures; other JVMs belong to a module.
    fixtures = getattr(item, "fixturenames", ())
    if "spark" in fixtures:
        return "spark"
    if "zookeeper_process" in fixtures:
        return "zookeeper"
    return item.path.stem if uses_jvm(item) else None


def place_longest_first(items: list[pytest.Item]) -> None:
    """Sort groups by duration, as far as it is known; the others follow in collection order."""
    ranks = {group: rank for rank, group in enumerate(LONGEST_FIRST)}

    def rank(item: pytest.Item) -> int:
        group = item.get_closest_marker("xdist_group")
        return ranks.get(group.args[0], len(ranks)) if group is not None else len(ranks)

    items.sort(key=rank)
