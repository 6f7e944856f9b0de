"""What Kafka 3.4.1 changed since 3.3.2."""

from falkirk.versions.notation import Api, ReleaseChanges

CHANGES = ReleaseChanges(
    release="3.4.1",
    since="3.3.2",
    read_from="api ranges",
    apis=(
        Api(4, "LeaderAndIsr", "0-7"),
        Api(5, "StopReplica", "0-4"),
        Api(6, "UpdateMetadata", "0-8"),
        Api(58, "Envelope", listeners="zkBroker controller"),
        Api(62, "BrokerRegistration", "0-1"),
    ),
)
