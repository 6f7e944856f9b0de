"""The picture of nodes by the levels that they support."""

import msgspec
from tests.support.watched_clusters import HIGHEST, made_findings

from falkirk.watch.page.query import ALL
from falkirk.watch.page.ranges import make_ranges


def with_nodes(*ranges):
    found = made_findings()
    [node] = found.nodes
    nodes = [
        msgspec.structs.replace(node, node_id=number, supported={"metadata.version": each} if each else {})
        for number, each in enumerate(ranges)
    ]
    return msgspec.structs.replace(found, nodes=tuple(nodes))


def test_a_node_that_does_not_run_the_finalized_level_stands_out():
    ranges = make_ranges(with_nodes((7, HIGHEST), (7, 20)), ALL)
    assert [bar.state for bar in ranges.bars] == ["open", "closed"]
    assert ranges.bars[0].width > ranges.bars[1].width
    assert ranges.bars[1].title == "node 1 supports 3.3-IV3 to 3.8-IV0"


def test_what_is_wanted_is_the_release_that_is_asked_for():
    found = with_nodes((25, HIGHEST), (7, HIGHEST))
    assert [bar.state for bar in make_ranges(found, "4.2").bars] == ["open", "open"]
    ranges = make_ranges(found, "3.7")
    assert [bar.state for bar in ranges.bars] == ["closed", "open"], "node 0 does not run it"
    assert [tick.label for tick in ranges.ticks if tick.state == "wanted"] == ["3.7"]
    [finalized] = [tick for tick in ranges.ticks if tick.state == "finalized"]
    assert finalized.x == next(tick.x for tick in ranges.ticks if tick.label == "4.3")


def test_nodes_of_which_nothing_is_known_are_counted():
    assert make_ranges(with_nodes((7, HIGHEST), None), ALL).missing == 1
    assert make_ranges(with_nodes(None), ALL) is None
