import re
import xml.etree.ElementTree as ET
from datetime import UTC, datetime, timedelta

import pytest

from falkirk.pipeline.reports.plots import (
    ApiVersions,
    LevelChange,
    api_versions_by_client,
    groups_by_type,
    levels_over_time,
)

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def texts(svg):
    # Namespaces are left out: in a page of HTML there is no need of them.
    root = ET.fromstring(svg.replace("xlink:href", "href"))  # noqa: S314 - made just now
    return [element.text for element in root.iter("text")]


def changes(clusters):
    return [
        LevelChange(cluster=f"c{number}", time=BEGIN + timedelta(days=number), level=(19, 25)[number % 2])
        for number in range(clusters)
    ]


def test_few_clusters_have_a_line_each():
    found = texts(levels_over_time(changes(3), {"c0": BEGIN + timedelta(days=9)}, 21))
    assert {"c0", "c1", "c2", "target", "3.7-IV4", "3.9-IV0", "4.0-IV3"} <= set(found)


def test_of_many_clusters_it_is_drawn_how_many_are_where():
    found = texts(levels_over_time(changes(30), {}, 21))
    assert {"clusters", "3.7-IV4", "4.0-IV3"} <= set(found)
    assert "c7" not in found


def test_groups_are_named_and_counted():
    found = texts(groups_by_type({"share": {"unreadable": 3}, "classic": {"readable": 2}}))
    assert {"share", "classic", "unreadable", "readable"} <= set(found)
    assert "appears empty" not in found


def test_versions_stand_in_the_cell_of_api_and_software():
    cells = [
        ApiVersions(api="Fetch", software="java 4.3", versions=(18, 17), works=False),
        ApiVersions(api="Produce", software="librdkafka 2", versions=(7,), works=True),
    ]
    assert {"17, 18", "7", "Fetch", "Produce", "java 4.3", "librdkafka 2"} <= set(texts(api_versions_by_client(cells)))


@pytest.mark.parametrize("name", ["$x^2$", "<script>", "a & b", 'q"uote', "$", "Кластер"])
def test_names_are_text_whatever_they_hold(name):
    cells = [ApiVersions(api="Fetch", software=name, versions=(1,), works=True)]
    assert name in texts(api_versions_by_client(cells))


def test_a_plot_is_the_same_each_time_and_names_no_address():
    first = groups_by_type({"share": {"readable": 2}})
    assert first == groups_by_type({"share": {"readable": 2}})
    assert first.startswith("<svg")
    assert re.findall(r"https?://|<\?xml|<!DOCTYPE|<metadata", first) == []
