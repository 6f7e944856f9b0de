"""What Kafka 3.6.2 changed since 3.5.2."""

from falkirk.versions.notation import Api, ReleaseChanges

CHANGES = ReleaseChanges(
    release="3.6.2",
    since="3.5.2",
    read_from="api ranges",
    apis=(
        Api(8, "OffsetCommit", "0-9", stable="0-8"),
        Api(24, "AddPartitionsToTxn", "0-4"),
        Api(38, "CreateDelegationToken", listeners="zkBroker broker controller"),
        Api(39, "RenewDelegationToken", listeners="zkBroker broker controller"),
        Api(40, "ExpireDelegationToken", listeners="zkBroker broker controller"),
        Api(41, "DescribeDelegationToken", listeners="zkBroker broker controller"),
    ),
)
