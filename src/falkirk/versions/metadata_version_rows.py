"""Every metadata.version, lowest first, by what it changed since the one below it."""

from typing import Final

from falkirk.versions.notation import MetadataVersionRow

METADATA_VERSION_ROWS: Final = (
    MetadataVersionRow(
        "0.8.0",
        supports="leader_epoch_bump_on_isr_shrink",
        writes={
            "group_metadata_value": 0,
            "record_batch": 0,
            "offset_commit_value": 1,
            "partition_change": 0,
            "partition": 0,
            "register_broker": 0,
        },
        sends={"fetch": 0, "list_offsets": 0, "offset_for_leader_epoch": 0, "write_txn_markers": 0},
    ),
    MetadataVersionRow("0.8.1"),
    MetadataVersionRow("0.8.2"),
    MetadataVersionRow("0.9.0", sends={"fetch": 1}),
    MetadataVersionRow("0.10.0-IV0", writes={"record_batch": 1}, sends={"fetch": 2}),
    MetadataVersionRow("0.10.0-IV1", supports="sasl_inter_broker_handshake"),
    MetadataVersionRow("0.10.1-IV0", writes={"group_metadata_value": 1}),
    MetadataVersionRow("0.10.1-IV1", sends={"fetch": 3}),
    MetadataVersionRow("0.10.1-IV2", sends={"list_offsets": 1}),
    MetadataVersionRow("0.10.2-IV0"),
    MetadataVersionRow("0.11.0-IV0", writes={"record_batch": 2}, sends={"fetch": 4, "list_offsets": 2}),
    MetadataVersionRow("0.11.0-IV1", sends={"fetch": 5}),
    MetadataVersionRow("0.11.0-IV2", supports="offset_for_leader_epoch"),
    MetadataVersionRow("1.0-IV0"),
    MetadataVersionRow("1.1-IV0", sends={"fetch": 7}),
    MetadataVersionRow("2.0-IV0", sends={"offset_for_leader_epoch": 1}),
    MetadataVersionRow("2.0-IV1", sends={"fetch": 8, "list_offsets": 3}),
    MetadataVersionRow("2.1-IV0", writes={"group_metadata_value": 2, "offset_commit_value": 2}),
    MetadataVersionRow(
        "2.1-IV1", writes={"offset_commit_value": 3}, sends={"list_offsets": 4, "offset_for_leader_epoch": 2}
    ),
    MetadataVersionRow("2.1-IV2", sends={"fetch": 10}),
    MetadataVersionRow("2.2-IV0"),
    MetadataVersionRow("2.2-IV1", sends={"list_offsets": 5}),
    MetadataVersionRow("2.3-IV0", writes={"group_metadata_value": 3}),
    MetadataVersionRow("2.3-IV1", sends={"fetch": 11, "offset_for_leader_epoch": 3}),
    MetadataVersionRow("2.4-IV0"),
    MetadataVersionRow("2.4-IV1"),
    MetadataVersionRow("2.5-IV0"),
    MetadataVersionRow("2.6-IV0"),
    MetadataVersionRow("2.7-IV0", supports="feature_versioning"),
    MetadataVersionRow("2.7-IV1", supports="truncation_on_fetch", sends={"fetch": 12}),
    MetadataVersionRow("2.7-IV2", supports="alter_partition"),
    MetadataVersionRow(
        "2.8-IV0", supports="topic_ids", sends={"list_offsets": 6, "offset_for_leader_epoch": 4, "write_txn_markers": 1}
    ),
    MetadataVersionRow("2.8-IV1"),
    MetadataVersionRow("3.0-IV0", supports="allocate_producer_ids"),
    MetadataVersionRow("3.0-IV1", 1, changes_metadata=True, supports="kraft", sends={"list_offsets": 7}),
    MetadataVersionRow("3.1-IV0", 2, sends={"fetch": 13}),
    MetadataVersionRow("3.2-IV0", 3, changes_metadata=True, supports="leader_recovery"),
    MetadataVersionRow("3.3-IV0", 4),
    MetadataVersionRow("3.3-IV1", 5, changes_metadata=True, supports="no_op_record"),
    MetadataVersionRow("3.3-IV2", 6, changes_metadata=True, supports="broker_registration_change_record"),
    MetadataVersionRow(
        "3.3-IV3", 7, changes_metadata=True, supports="in_controlled_shutdown", writes={"register_broker": 1}
    ),
    MetadataVersionRow(
        "3.4-IV0", 8, changes_metadata=True, supports="api_forwarding migration", writes={"register_broker": 2}
    ),
    MetadataVersionRow("3.5-IV0", 9, sends={"fetch": 14, "list_offsets": 8}),
    MetadataVersionRow("3.5-IV1", 10, sends={"fetch": 15}),
    MetadataVersionRow("3.5-IV2", 11, changes_metadata=True, supports="scram"),
    MetadataVersionRow("3.6-IV0", 12, ends="leader_epoch_bump_on_isr_shrink"),
    MetadataVersionRow("3.6-IV1", 13, changes_metadata=True, supports="metadata_transaction"),
    MetadataVersionRow("3.6-IV2", 14, changes_metadata=True, supports="delegation_token"),
    MetadataVersionRow(
        "3.7-IV0", 15, changes_metadata=True, supports="controller_registration", writes={"register_controller": 0}
    ),
    MetadataVersionRow("3.7-IV1", 16),
    MetadataVersionRow(
        "3.7-IV2",
        17,
        changes_metadata=True,
        supports="directory_assignment",
        writes={"partition_change": 1, "partition": 1, "register_broker": 3},
    ),
    MetadataVersionRow("3.7-IV3", 18),
    MetadataVersionRow("3.7-IV4", 19, sends={"fetch": 16}),
    MetadataVersionRow("3.8-IV0", 20),
    MetadataVersionRow("3.9-IV0", 21, sends={"fetch": 17, "list_offsets": 9}),
    MetadataVersionRow("4.0-IV0", 22),
    MetadataVersionRow(
        "4.0-IV1", 23, changes_metadata=True, supports="elr", writes={"partition_change": 2, "partition": 2}
    ),
    MetadataVersionRow("4.0-IV2", 24),
    MetadataVersionRow("4.0-IV3", 25, sends={"list_offsets": 10}),
    MetadataVersionRow("4.1-IV0", 26),
    MetadataVersionRow("4.1-IV1", 27, sends={"fetch": 18}),
    MetadataVersionRow("4.2-IV0", 28),
    MetadataVersionRow("4.2-IV1", 29, sends={"list_offsets": 11}),
    MetadataVersionRow(
        "4.3-IV0", 30, changes_metadata=True, supports="cordoned_log_dirs", writes={"register_broker": 4}
    ),
    MetadataVersionRow("4.4-IV0", 31),
    MetadataVersionRow("4.4-IV1", 32, changes_metadata=True, supports="cidr_acl"),
    MetadataVersionRow("4.4-IV2", 33, changes_metadata=True, supports="controller_unregistration"),
    MetadataVersionRow("4.5-IV0", 34, unstable=True),
)
