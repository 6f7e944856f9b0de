"""What lowering metadata.version would lose, where the controllers are real Kafka's: those only refuse.

The ledger is made of the cluster's own metadata, read from the controllers without joining the quorum.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from falkirk.client.admin import AsyncAdmin, EndpointType
from falkirk.client.errors import ClientError
from falkirk.logdir.errors import LogDirError
from falkirk.logdir.target import parse_target
from falkirk.mirror.cluster_mirror import find_controllers, find_leader
from falkirk.mirror.errors import MirrorError
from falkirk.mirror.mirrored_directory import MirroredDirectory
from falkirk.operations.lift_check import read_logs
from falkirk.protocol.feature_update_tags import FeatureUpdateDetails
from falkirk.versions.errors import VersionsError
from falkirk.versions.metadata_version import FLOOR, METADATA_VERSION, MetadataVersion

if TYPE_CHECKING:
    from pathlib import Path

    from falkirk.operations.feature_changes import UpdateOutcome


async def with_ledger(admin: AsyncAdmin, outcome: UpdateOutcome, folder: Path) -> UpdateOutcome:
    """Return a refused dry run with what would be lost; the metadata is copied below `folder`.

    Where it cannot be read the note says why. A level that falkirk does not lower to either stays Kafka's refusal.
    """
    number = outcome.updates[METADATA_VERSION].max_version_level
    if number < FLOOR.level:
        return outcome
    level = MetadataVersion.of_level(number)
    way = f"falkirk can lower it: `falkirk lift check --to {level}` shows what is in the way, and the way"
    try:
        details = await _details(admin, level, folder)
    except (ClientError, MirrorError, LogDirError, VersionsError, OSError) as error:
        reason = str(error).replace("\n", "; ")
        return replace(outcome, note=f"What would be lost is not known: {reason}. {way}.")
    note = f"Real Kafka's controllers refuse; what would be lost was computed here, of the metadata alone. {way}."
    return replace(outcome, result=replace(outcome.result, details=details), note=note, is_ledger_ours=True)


async def _details(admin: AsyncAdmin, level: MetadataVersion, folder: Path) -> FeatureUpdateDetails:
    async with AsyncExitStack() as stack:
        controllers = admin
        if admin.endpoint_type is EndpointType.BROKER:
            endpoints = await find_controllers(admin)
            made = AsyncAdmin(endpoints, admin.config, endpoint_type=EndpointType.CONTROLLER)
            controllers = await stack.enter_async_context(made)
        leader = await find_leader(controllers)
        directory = MirroredDirectory(folder, leader.cluster_id, leader.quorum.leader_id)
        await directory.fetch_metadata(leader.connection, leader.quorum)
    ledger = read_logs(directory.path, parse_target(str(level))).plan.as_json()
    return FeatureUpdateDetails(**{name: ledger[name] for name in ("losses", "inaccessible", "blockers")})
