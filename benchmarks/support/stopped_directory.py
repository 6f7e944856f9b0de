"""A data directory around a snapshot, as a stopped voter leaves it."""

import shutil
from pathlib import Path

from falkirk.storage.quorum_state import QuorumState, format_quorum_state

NODE_ID = 1


def stopped_directory(folder: Path, snapshot: Path) -> Path:
    metadata = folder / "d0" / "__cluster_metadata-0"
    metadata.mkdir(parents=True)
    shutil.copyfile(snapshot, metadata / snapshot.name)
    (folder / "d0" / "meta.properties").write_text(f"version=1\ncluster.id={'A' * 22}\nnode.id={NODE_ID}\n")
    (metadata / "quorum-state").write_bytes(
        format_quorum_state(QuorumState(data_version=0, leader_epoch=1, current_voters=(NODE_ID,)))
    )
    return folder
