"""Which handler answers which API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.node.handlers import (
    add_raft_voter,
    allocate_producer_ids,
    alter_client_quotas,
    alter_configs,
    alter_partition,
    alter_partition_reassignments,
    alter_user_scram_credentials,
    api_versions,
    assign_replicas_to_dirs,
    begin_quorum_epoch,
    broker_heartbeat,
    broker_registration,
    controller_registration,
    create_acls,
    create_delegation_token,
    create_partitions,
    create_topics,
    delete_acls,
    delete_topics,
    describe_acls,
    describe_cluster,
    describe_configs,
    describe_delegation_token,
    describe_quorum,
    describe_user_scram_credentials,
    elect_leaders,
    end_quorum_epoch,
    envelope,
    expire_delegation_token,
    fetch,
    fetch_snapshot,
    incremental_alter_configs,
    list_partition_reassignments,
    remove_raft_voter,
    renew_delegation_token,
    unregister_broker,
    unregister_controller,
    update_raft_voter,
    vote,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from falkirk.node.handlers.handler import Route

# One line for each handler: `<api>.ROUTE`, in order of the API keys.
_ROUTES: Iterable[Route] = (
    fetch.ROUTE,
    api_versions.ROUTE,
    create_topics.ROUTE,
    delete_topics.ROUTE,
    describe_acls.ROUTE,
    create_acls.ROUTE,
    delete_acls.ROUTE,
    describe_configs.ROUTE,
    alter_configs.ROUTE,
    create_partitions.ROUTE,
    create_delegation_token.ROUTE,
    renew_delegation_token.ROUTE,
    expire_delegation_token.ROUTE,
    describe_delegation_token.ROUTE,
    elect_leaders.ROUTE,
    incremental_alter_configs.ROUTE,
    alter_partition_reassignments.ROUTE,
    list_partition_reassignments.ROUTE,
    alter_client_quotas.ROUTE,
    describe_user_scram_credentials.ROUTE,
    alter_user_scram_credentials.ROUTE,
    vote.ROUTE,
    begin_quorum_epoch.ROUTE,
    end_quorum_epoch.ROUTE,
    describe_quorum.ROUTE,
    alter_partition.ROUTE,
    envelope.ROUTE,
    fetch_snapshot.ROUTE,
    describe_cluster.ROUTE,
    broker_registration.ROUTE,
    broker_heartbeat.ROUTE,
    unregister_broker.ROUTE,
    allocate_producer_ids.ROUTE,
    controller_registration.ROUTE,
    assign_replicas_to_dirs.ROUTE,
    add_raft_voter.ROUTE,
    remove_raft_voter.ROUTE,
    update_raft_voter.ROUTE,
    unregister_controller.ROUTE,
)

ROUTES: Final[Mapping[int, Route]] = {route.api_key: route for route in _ROUTES}
