"""docs/reference/operations.md lists all modules, and its examples run."""

import asyncio
import contextlib
import io
import re
from pathlib import Path

from feature_servers import FeatureServers, feature_answer
from group_servers import GroupServers

from falkirk.protocol.messages import ListConfigResourcesResponse, UpdateFeaturesResponse

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reference/operations.md").read_text()
MAPPING, GO_DOWN, LOSSY = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def run(example):
    names: dict[str, object] = {}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(example, names)  # noqa: S102 - the examples are ours
    return names, printed.getvalue().splitlines()


def test_every_module_is_listed():
    listed = re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)
    modules = {path.stem for path in (ROOT / "src/falkirk/operations").glob("*.py")} - {"__init__", "errors"}
    assert len(listed) == len(set(listed))
    assert set(listed) == modules


def test_the_levels_are_those_that_the_comments_say():
    assert run(MAPPING)[1] == re.findall(r"# (.*)", MAPPING)


def test_a_cluster_goes_down(monkeypatch):
    monkeypatch.setattr("falkirk.operations.downgrade_wait._POLL_S", 0.01)
    servers = FeatureServers(UpdateFeaturesResponse())
    supported = {"metadata.version": (7, 30)}
    servers.features = [feature_answer(5, supported, {"metadata.version": level}) for level in (30, 30, 21)]
    with servers.running():
        releases = asyncio.run(run(GO_DOWN)[0]["go_down"](servers.servers))
    [(_, _, request)] = servers.asked
    assert [(each.feature, each.max_version_level) for each in request.feature_updates] == [("metadata.version", 21)]
    assert "3.9.1" in releases
    assert "3.8.1" not in releases


def test_a_cluster_without_groups_has_none_that_are_lossy():
    with GroupServers().running() as servers:
        servers.answers[74] = ListConfigResourcesResponse()
        assert asyncio.run(run(LOSSY)[0]["lossy_groups"](servers.servers)) == []
