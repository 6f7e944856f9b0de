"""Updates of features that real controllers of five releases were asked for, asked of ours in the same states.

`feature_updates.jsonl` has the calls of kafka-features on one node, in order, with what it printed. Where ours
answers otherwise stands in `data/differing_feature_updates.txt`, and nowhere else; after such a call ours is put where
Kafka was.
"""

import json
import re
from itertools import groupby, pairwise
from pathlib import Path

from controllers import Broker, make_controller, run

from falkirk.metadata.controller.features.feature_update import FeatureUpdateContext
from falkirk.protocol.messages import UpdateFeaturesRequest
from falkirk.protocol.messages.update_features_request import FeatureUpdateKey
from falkirk.protocol.upgrade_type import UpgradeType
from falkirk.versions.features import FALKIRK_DOWNGRADE
from falkirk.versions.metadata_version import METADATA_VERSION
from falkirk.versions.release import Release
from falkirk.versions.supported_range import SupportedRange

NODE_ID = 4
DIFFERING = Path(__file__).parent / "data" / "differing_feature_updates.txt"
ROWS = [
    json.loads(line)
    for line in (Path(__file__).parents[3] / "data" / "cli_answers" / "feature_updates.jsonl").read_text().splitlines()
]
STATES = {key: list(rows) for key, rows in groupby(ROWS, key=lambda row: (row["release"], row["state"]))}


class OneNode:
    """A controller that is its only broker, too, as the recorded ones were."""

    def __init__(self, release: str, levels: dict[str, str]):
        self.release = Release.parse(release)
        told = {name: self.level(name, text) for name, text in levels.items()}
        self.kraft_version = told.pop("kraft.version", 0)
        level = told.pop(METADATA_VERSION)
        self.controller = make_controller(
            release=release,
            metadata_version=level,
            features={name: level for name, level in told.items() if level},
            brokers=[Broker(broker_id=NODE_ID, features={FALKIRK_DOWNGRADE: (0, 1)})],
            node_id=NODE_ID,
            supported_features={**self.release.supported_features(), FALKIRK_DOWNGRADE: SupportedRange(0, 1)},
        )

    def level(self, name: str, text: str) -> int:
        if name != METADATA_VERSION:
            return int(text)
        if text.startswith("UNKNOWN "):
            return int(text.removeprefix("UNKNOWN "))
        return self.release.find_metadata_version(text).level

    def levels(self) -> dict[str, int]:
        return self.controller.features.finalized_features(kraft_version=self.kraft_version)

    def update(self, command: str) -> list[str]:
        """Do what a call does; return the lines that it prints on stdout."""
        verb, *words = command.split()
        wanted = self.wanted(verb, words)
        is_dry = "--dry-run" in words
        upgrade_type = UpgradeType.UPGRADE
        if verb != "upgrade":
            upgrade_type = UpgradeType.UNSAFE_DOWNGRADE if "--unsafe" in words else UpgradeType.SAFE_DOWNGRADE
        request = UpdateFeaturesRequest(
            feature_updates=[
                FeatureUpdateKey(name, level, upgrade_type=upgrade_type) for name, level in wanted.items()
            ],
            validate_only=is_dry,
        )
        version = self.release.apis[57].stable_versions.highest
        context = FeatureUpdateContext(
            api_version=version, kraft_version=self.kraft_version, voters={NODE_ID}, now_ms=0
        )
        decision = self.controller.features.update_features(request, context)
        response = run(self.controller, decision.result())
        errors = {result.feature: result.error_message for result in response.results if result.error_code}
        if response.error_code:
            errors = dict.fromkeys(wanted, response.error_message)
        return [self.line(verb, name, wanted[name], errors.get(name), is_dry=is_dry) for name in sorted(wanted)]

    def wanted(self, verb: str, words: list[str]) -> dict[str, int]:
        wanted = {}
        for option, value in pairwise(words):
            if option == "--metadata":
                wanted[METADATA_VERSION] = self.level(METADATA_VERSION, value)
            elif option == "--release-version":
                at = self.release.find_metadata_version(value)
                wanted |= {METADATA_VERSION: at.level, **self.release.default_levels(at)}
                # As its tool does: what the release would not have at the level is left out of an upgrade.
                wanted = {name: level for name, level in wanted.items() if level or verb != "upgrade"}
            elif option == "--feature":
                name, _, level = value.partition("=")
                wanted[name] = int(level or 0)
        return wanted

    def line(self, verb: str, name: str, level: int, error: str | None, *, is_dry: bool) -> str:
        done = {"upgrade": "upgraded", "downgrade": "downgraded", "disable": "disabled"}[verb]
        to = "" if verb == "disable" else f" to {level}"
        if error is None:
            return f"{name} {'can be' if is_dry else 'was'} {done}{to}."
        return f"{'Can' if is_dry else 'Could'} not {verb} {name}{to}. {error}"


def replay(release: str, rows: list[dict]) -> list[str]:
    """Ask the calls of one state; give those with another answer, each with ours."""
    node = OneNode(release, rows[0]["levels"])
    differing = []
    for row in rows:
        if row["command"] == "describe":
            told = {name: node.level(name, text) for name, text in row["levels"].items()}
            assert node.levels() == {name: level for name, level in told.items() if level}, row
            continue
        before = node.levels()
        answers = node.update(row["command"])
        if answers != row["answers"]:
            differing.append(f"{row['command']}\n" + "".join(f"    {line}\n" for line in answers))
            is_changed = row["rc"] == 0 and "--dry-run" not in row["command"]
            changes = node.wanted(*_split(row["command"])) if is_changed else {}
            changes.pop("kraft.version", None)
            node = OneNode(release, {name: _text(name, level) for name, level in {**before, **changes}.items()})
    return differing


def _split(command: str) -> tuple[str, list[str]]:
    verb, *words = command.split()
    return verb, words


def _text(name: str, level: int) -> str:
    return f"UNKNOWN {level}" if name == METADATA_VERSION else str(level)


def test_recorded_calls_are_answered_as_kafka_does_but_for_those_listed(update_golden):
    told = "".join(
        f"# {release}, {state or 'as it was'}\n{call}\n"
        for (release, state), rows in STATES.items()
        for call in replay(release, rows)
    )
    if update_golden:
        DIFFERING.write_text(told)
    assert told == DIFFERING.read_text()


def test_calls_differ_only_where_metadata_version_falls_or_kraft_version_is_asked_for():
    calls = re.findall(r"^(?:upgrade|downgrade|disable) .*$", DIFFERING.read_text(), re.MULTILINE)
    assert calls
    for call in calls:
        assert call.startswith("downgrade")
        assert re.search("--metadata|metadata.version|--release-version", call), call
