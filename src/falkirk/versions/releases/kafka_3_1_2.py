"""What Kafka 3.1.2 changed since 3.0.2."""

from falkirk.versions.notation import Api, ReleaseChanges

CHANGES = ReleaseChanges(
    release="3.1.2",
    since="3.0.2",
    read_from="api ranges",
    apis=(
        Api(1, "Fetch", "0-13"),
        Api(3, "Metadata", "0-12"),
        Api(43, "ElectLeaders", forwardable=True),
    ),
)
