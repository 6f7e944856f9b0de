"""The options of `falkirk features`."""

from typing import Annotated

import typer

WAIT_DEFAULT_S = 300.0

ToolReleaseOption = Annotated[
    str | None,
    typer.Option(
        "--release",
        metavar="RELEASE",
        help="Answer as the tool of this Kafka release does, its exit status for wrong usage included "
        "(3.7 and later; default: the newest that falkirk knows).",
    ),
]
TargetReleaseOption = Annotated[
    str | None,
    typer.Option(
        "--release",
        metavar="RELEASE",
        help="The Kafka release (3.7 and later) whose levels are wanted; default: the newest that the node supports, "
        "and of a broker on ZooKeeper all that it supports.",
    ),
]
NodeIdOption = Annotated[int | None, typer.Option("--node-id", metavar="ID", help="Ask this node; default: any.")]
MetadataOption = Annotated[
    str | None,
    typer.Option("--metadata", metavar="VERSION", help="The metadata.version to go to, as 3.9-IV0; deprecated."),
]
LevelsOption = Annotated[
    str | None,
    typer.Option("--release-version", metavar="VERSION", help="Go to all levels that version-mapping shows for it."),
]
UpdateOption = Annotated[
    list[str] | None,
    typer.Option("--feature", metavar="FEATURE=LEVEL", help="A level to go to; may be repeated."),
]
DisableOption = Annotated[
    list[str] | None, typer.Option("--feature", metavar="FEATURE", help="A feature to switch off; may be repeated.")
]
UnsafeOption = Annotated[bool, typer.Option("--unsafe", help="Go on even if metadata is lost.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Say whether it could be done, and change nothing.")]
ForcedSnapshotOption = Annotated[
    bool,
    typer.Option(
        "--allow-forced-snapshot",
        help="Real Kafka brokers under falkirk's controllers may be forced to reload the metadata from a snapshot.",
    ),
]
AbortTransactionsOption = Annotated[
    bool,
    typer.Option(
        "--abort-transactions",
        help="Where transaction.version is lowered with --unsafe: abort open transactions, do not wait for their end.",
    ),
]
WaitOption = Annotated[
    bool, typer.Option("--wait", help="Return when every node has the change, and say what is left to do.")
]
TimeoutOption = Annotated[
    float, typer.Option("--timeout", metavar="SECONDS", min=0, help="How long --wait waits for the nodes.")
]

KnownLevelsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--levels",
        metavar="FEATURE:LEVEL,...",
        help="Levels beside the release's, for features that no release has; may be repeated.",
    ),
]
AllowDowngradeOption = Annotated[
    bool, typer.Option("--allow-downgrade", help="What --upgrade names may also go down (KIP-584's flag).")
]
DowngradeIsAllowedOption = Annotated[
    bool, typer.Option("--allow-downgrade", help="Taken, as KIP-584 has it; this command allows it anyway.")
]
UpgradesOption = Annotated[
    list[str] | None,
    typer.Option("--upgrade", metavar="FEATURE:LEVEL,...", help="Levels to add or raise; may be repeated."),
]
DowngradesOption = Annotated[
    list[str] | None,
    typer.Option("--downgrade", metavar="FEATURE:LEVEL,...", help="Levels to lower; may be repeated."),
]
DeletionsOption = Annotated[
    list[str] | None, typer.Option("--delete", metavar="FEATURE,...", help="Features to delete; may be repeated.")
]
Kip584Option = Annotated[
    bool, typer.Option("--kip-584", help="Print KIP-584's own table: finalized levels with their minimum, as numbers.")
]
