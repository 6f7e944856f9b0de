"""What is in the way of a lift, and what to know before it, from an observation of the running cluster. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.client.node_configs import LackingPartition
from falkirk.client.node_versions import NodeVersions
from falkirk.coordinator.prediction.groups import GroupVerdict
from falkirk.coordinator.records.record_type import GroupType
from falkirk.ledger.findings import Blocker, BlockerKind, LedgerWarning, WarningKind
from falkirk.node.config.quorum_properties import BOOTSTRAP_SERVERS, parse_bootstrap_servers
from falkirk.operations.ghosts import BROKER, Ghost, find_ghosts
from falkirk.operations.lift_way import QuorumLayout
from falkirk.protocol.schema import ZERO_UUID
from falkirk.protocol.topic_partition import TopicPartition
from falkirk.versions.configs.definition import ConfigError
from falkirk.versions.errors import VersionsError
from falkirk.versions.features import FALKIRK_DOWNGRADE, KRAFT_VERSION, TRANSACTION_VERSION
from falkirk.versions.metadata_version import METADATA_VERSION, MetadataVersion

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from falkirk.client.quorum_description import QuorumDescription
    from falkirk.ledger.reported_group import ReportedGroup
    from falkirk.logdir.target import Target
    from falkirk.metadata.image.broker_registration import SupportedFeature
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.operations.lift_observation import Observation
    from falkirk.versions.release import Release

SHOWN_PARTITIONS: Final = 20
SHOWN_IDS: Final = 20
SHOWN_DIFFERENCES: Final = 10
_CLASSIC_TYPES: Final = frozenset({GroupType.CLASSIC, GroupType.SIMPLE})
_CLASSIC_BEFORE: Final = "restart them with group.protocol=classic before"
_BEFORE: Final[Mapping[str, str]] = {
    GroupType.CONSUMER: _CLASSIC_BEFORE,
    GroupType.STREAMS: _CLASSIC_BEFORE,
    GroupType.SHARE: "stop them before",
}
AUTO_JOIN: Final = "controller.quorum.auto.join.enable"
# Since 4.1 static voters can be made dynamic while they run.
_RAISES_KRAFT_VERSION: Final = MetadataVersion.parse("4.1-IV0")


def lacking_in(image: MetadataImage) -> tuple[LackingPartition, ...]:
    """Return the partitions of an image whose ISR lacks replicas."""
    return tuple(
        LackingPartition(partition=TopicPartition(topic.name, number), replicas=partition.replicas, isr=partition.isr)
        for topic in image.topics
        for number, partition in topic.items()
        if len(partition.isr) < len(partition.replicas)
    )


def isr_blockers(lacking: Sequence[LackingPartition], count: int | None = None) -> Iterator[Blocker]:
    """Yield a blocker for partitions below their full ISR: lowering then costs eligible leaders, and a roll data.

    `count`: how many there are, if `lacking` has only the first ones.
    """
    if not lacking:
        return
    count = len(lacking) if count is None else count
    shown = [
        {"partition": str(each.partition), "replicas": list(each.replicas), "isr": list(each.isr)}
        for each in lacking[:SHOWN_PARTITIONS]
    ]
    first = lacking[0]
    many = f" and {count - 1} more" if count > 1 else ""
    yield Blocker(
        kind=BlockerKind.BELOW_FULL_ISR,
        fields={"partitions": shown, "count": count},
        text=f"{first.partition}{many}: ISR {list(first.isr)} of replicas {list(first.replicas)}: "
        "lower only at full ISR, else eligible leader replicas are lost too",
    )


def image_differences(image: MetadataImage, observation: Observation) -> Iterator[Blocker]:
    """Yield a blocker if the image that was read lacks what the nodes report, or has it otherwise.

    A snapshot of such an image would be wrong. What the log has and brokers do not report may be newer than they are.
    """
    differing = [
        f"topic {name}"
        for name, reported in sorted(observation.topics.items())
        if (topic := image.topics.topic(name)) is None
        or reported.topic_id not in (topic.topic_id, ZERO_UUID)
        or reported.replicas != {number: partition.replicas for number, partition in topic.items()}
    ]
    quorum, levels = observation.quorum, image.features.levels()
    leader = None if quorum is None else observation.answers.get(quorum.leader_id)
    if isinstance(leader, NodeVersions):
        differing += [
            f"feature {name}"
            for name, finalized in sorted(leader.finalized_features.items())
            if name != KRAFT_VERSION and levels.get(name, 0) != finalized.max_version_level
        ]
    if differing:
        more = f" and {len(differing) - SHOWN_DIFFERENCES} more" if len(differing) > SHOWN_DIFFERENCES else ""
        yield Blocker(
            kind=BlockerKind.IMAGE_DIFFERS,
            fields={"what": differing[:SHOWN_DIFFERENCES], "count": len(differing)},
            text=f"the metadata log has otherwise than the nodes report: {', '.join(differing[:SHOWN_DIFFERENCES])}"
            f"{more}: it was changed meanwhile, or falkirk does not read this log as the nodes do; check again",
        )


def silent_nodes(observation: Observation) -> Iterator[Blocker | LedgerWarning]:
    """Yield a blocker for each node in service that does not answer, a warning for each fenced broker that is gone."""
    brokers = {node.node_id: node for node in observation.brokers}
    voters = () if observation.quorum is None else observation.quorum.voters
    for node_id in sorted(observation.silent):
        reason = str(observation.answers[node_id])
        if node_id in brokers and brokers[node_id].is_fenced and node_id not in voters:
            yield LedgerWarning(
                kind=WarningKind.GHOST_BROKER,
                fields={"node_id": node_id, "min_supported": None, "max_supported": None},
                text=f"{Ghost(role=BROKER, node_id=node_id).text} It gets no snapshot either, and with its old "
                "metadata log an older binary of it does not start",
            )
            continue
        yield Blocker(
            kind=BlockerKind.SILENT_NODE,
            fields={"node_id": node_id, "reason": reason},
            text=f"node {node_id} does not answer: {reason}",
        )


def ghost_controllers(image: MetadataImage, quorum: QuorumDescription | None) -> Iterator[LedgerWarning]:
    """Yield a warning for each registered controller that is neither voter nor observer.

    A registration outlives its controller, and below 4.4-IV2 nothing removes it.
    """
    ghosts = () if quorum is None else find_ghosts(quorum, controllers=image.cluster.controllers.keys())
    for ghost in ghosts:
        levels = metadata_levels(image.cluster.controllers[ghost.node_id].features)
        highest = "" if levels is None else f" Its highest metadata.version is {level_name(levels[1])}"
        yield LedgerWarning(
            kind=WarningKind.GHOST_CONTROLLER,
            fields={
                "node_id": ghost.node_id,
                "min_supported": None if levels is None else levels[0],
                "max_supported": None if levels is None else levels[1],
            },
            text=f"{ghost.text}{highest}",
        )


def stale_registrations(image: MetadataImage, observation: Observation) -> Iterator[LedgerWarning]:
    """Yield a warning for each controller that is registered with other levels than its binaries have.

    Kafka's waits for ever where its first request to register times out; the registration of its last start stays, and
    levels are checked against that.
    """
    for node_id, registration in sorted(image.cluster.controllers.items()):
        answer, registered = observation.answers.get(node_id), metadata_levels(registration.features)
        if not isinstance(answer, NodeVersions) or registered is None or _is_falkirk(answer):
            continue
        supported = answer.supported_features.get(METADATA_VERSION)
        if supported is not None and supported.highest != registered[1]:
            yield LedgerWarning(
                kind=WarningKind.STALE_REGISTRATION,
                fields={"node_id": node_id, "registered": registered[1], "max_supported": supported.highest},
                text=f"controller {node_id} runs binaries up to {level_name(supported.highest)} and is registered with "
                f"{level_name(registered[1])}: it has not registered since its start, and levels are checked against "
                "what is registered; restart it once more",
            )


def unregistered_voters(image: MetadataImage, observation: Observation) -> Iterator[Blocker]:
    """Yield a blocker for each voter that has not registered: most likely falkirk's controller of another lift.

    Where that runs in place of a controller of Kafka's, the registration is still this one's.
    """
    for node_id in sorted(() if observation.quorum is None else observation.quorum.voters):
        registered = image.cluster.controllers.get(node_id)
        if registered is None:
            what = "is not registered as a controller: it is falkirk's of another lift"
        elif _is_falkirk(observation.answers.get(node_id)) and FALKIRK_DOWNGRADE not in {
            feature.name for feature in registered.features
        }:
            what = "is falkirk in place of the controller that is registered: another lift is under way"
        else:
            continue
        yield Blocker(
            kind=BlockerKind.UNREGISTERED_VOTER,
            fields={"node_id": node_id},
            text=f"voter {node_id} {what}, which has to be ended first (falkirk lift run or abort, with its own file), "
            "or a controller that has to be restarted",
        )


def unsupporting_nodes(image: MetadataImage, target: Target) -> Iterator[Blocker]:
    """Yield a blocker for each registered node that does not support the target's level."""
    level = target.metadata_version.level
    registered = [
        *(("broker", node_id, node.features) for node_id, node in sorted(image.cluster.brokers.items())),
        *(("controller", node_id, node.features) for node_id, node in sorted(image.cluster.controllers.items())),
    ]
    for role, node_id, features in registered:
        levels = metadata_levels(features)
        if levels is not None and not levels[0] <= level <= levels[1]:
            yield Blocker(
                kind=BlockerKind.UNSUPPORTING_NODE,
                fields={
                    "role": role,
                    "node_id": node_id,
                    "feature": METADATA_VERSION,
                    "level": level,
                    "min_supported": levels[0],
                    "max_supported": levels[1],
                },
                text=f"{role} {node_id} supports {level_name(levels[0])} to {level_name(levels[1])}, "
                f"not {target.metadata_version}",
            )


def refused_members(groups: Iterable[ReportedGroup]) -> Iterator[LedgerWarning]:
    """Yield a warning for each group with members of a protocol that the target does not have."""
    for group in groups:
        if group.members and group.type not in _CLASSIC_TYPES and group.verdict != GroupVerdict.READABLE:
            yield LedgerWarning(
                kind=WarningKind.MEMBERS_REFUSED,
                fields={"group": group.group, "type": group.type, "members": group.members},
                text=f"group {group.group} ({group.type}) has {group.members} members: they get UNSUPPORTED_VERSION "
                "when the level is lowered, and its partitions are not read until their session ends (45 s by "
                f"default); {_BEFORE[group.type]}",
            )


def stuck_producers(
    observation: Observation, transactional_ids: tuple[str, ...], after: Mapping[str, int], release: Release
) -> Iterator[LedgerWarning]:
    """Yield a warning for transactional ids whose state Kafka's brokers cannot write at transaction.version 0.

    `transactional_ids`: those with a transaction.version of their client; `after`: levels of features.
    """
    answers = (observation.answers.get(node.node_id) for node in observation.brokers)
    has_kafka = any(
        isinstance(each, NodeVersions) and FALKIRK_DOWNGRADE not in each.supported_features for each in answers
    )
    if not transactional_ids or after.get(TRANSACTION_VERSION, 0) > 0 or not has_kafka:
        return
    shown = ", ".join(transactional_ids[:SHOWN_IDS])
    more = f" and {len(transactional_ids) - SHOWN_IDS} more" if len(transactional_ids) > SHOWN_IDS else ""
    yield LedgerWarning(
        kind=WarningKind.PRODUCERS_WAIT,
        fields={"transactional_ids": list(transactional_ids[:SHOWN_IDS]), "count": len(transactional_ids)},
        text=f"transactional ids that have used transaction.version 2: {shown}{more}: after the lowering a producer "
        "that is started again under one of them gets CONCURRENT_TRANSACTIONS until the broker that coordinates it "
        f"runs Kafka {release.word}; let the roll follow at once",
    )


def voters_at_bootstrap(observation: Observation) -> Iterator[LedgerWarning]:
    """Yield a warning for a voter at no address of a node's controller.quorum.bootstrap.servers.

    A leader there is found by nobody who does not know it already.
    """
    quorum = observation.quorum
    if quorum is None:
        return
    for node_id, configs in sorted(observation.configs.items()):
        text = configs.get(BOOTSTRAP_SERVERS)
        if not text:
            continue
        try:
            servers = set(parse_bootstrap_servers([each.strip() for each in text.split(",")]))
        except ConfigError:
            continue
        for voter, endpoint in sorted(quorum.voter_endpoints.items()):
            if voter in quorum.voters and endpoint not in servers:
                yield LedgerWarning(
                    kind=WarningKind.VOTER_NOT_AT_BOOTSTRAP,
                    fields={"node_id": voter, "where": f"node {node_id}"},
                    text=f"voter {voter} listens at {endpoint}, which is not in {BOOTSTRAP_SERVERS} of node {node_id}: "
                    "should it lead, that node may not find it",
                )


def quorum_layout(observation: Observation, *, kraft_version: int, keeps_dynamic: bool) -> QuorumLayout | None:
    """Return what decides on the way; None if the quorum was not seen."""
    quorum = observation.quorum
    if quorum is None:
        return None
    brokers = {node.node_id for node in observation.brokers}
    return QuorumLayout(
        kraft_version=kraft_version,
        voters=tuple(sorted(quorum.voters)),
        leader_id=quorum.leader_id,
        combined=frozenset(quorum.voters) & brokers,
        can_be_dynamic=all(_raises_kraft_version(observation.answers.get(voter)) for voter in quorum.voters),
        keeps_dynamic=keeps_dynamic,
        auto_joining=frozenset(
            node_id for node_id, configs in observation.configs.items() if configs.get(AUTO_JOIN) == "true"
        ),
        lowers_itself=all(_is_falkirk(observation.answers.get(voter)) for voter in quorum.voters),
    )


def metadata_levels(features: Iterable[SupportedFeature]) -> tuple[int, int] | None:
    """Return the lowest and the highest level of metadata.version that a node registered with; None without any."""
    for feature in features:
        if feature.name == METADATA_VERSION:
            return feature.min_supported_version, feature.max_supported_version
    return None


def level_name(level: int) -> str:
    """Return a level's name; its number if falkirk does not know it."""
    try:
        return str(MetadataVersion.of_level(level))
    except VersionsError:
        return f"level {level}"


def _is_falkirk(answer: object) -> bool:
    return isinstance(answer, NodeVersions) and FALKIRK_DOWNGRADE in answer.supported_features


def _raises_kraft_version(answer: object) -> bool:
    if not isinstance(answer, NodeVersions):
        return False
    supported: Mapping[str, object] = answer.supported_features
    levels = answer.supported_features.get(METADATA_VERSION)
    return KRAFT_VERSION in supported and levels is not None and levels.highest >= _RAISES_KRAFT_VERSION.level
