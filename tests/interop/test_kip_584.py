"""KIP-584's command line on a real broker with a quorum, of the last release that updates each feature separately."""

import json

import pytest
from feature_calls import run_falkirk
from kafka_cluster import Clusters

pytestmark = pytest.mark.interop

FIRST, LAST = 16, 21


def raise_line(before: int, level: int) -> str:
    return (
        f"[Upgrade] Feature: metadata.version      ExistingFinalizedMaxVersion: {before}  "
        f"NewFinalizedMaxVersion: {level}       Result: OK"
    )


def test_real_brokers_are_described_and_updated_in_the_kips_words(clusters: Clusters):
    cluster = clusters.new("3.9.1")
    cluster.format(release_version="3.7-IV1")

    def ask(*words: str) -> tuple[int, list[str], list[str]]:
        status, out, err = run_falkirk(["--bootstrap-server", cluster.bootstrap_servers, *words])
        return status, out.splitlines(), err.splitlines()

    with cluster.running():
        described = ask("--describe", "--kip-584")
        dry = ask("--upgrade-all", "--dry-run")
        updated = ask("update", "--upgrade", f"metadata.version:{FIRST + 1},unheard.of:1")
        refused = ask("update", "--delete", "metadata.version")
        raised = ask("--upgrade-all", "--json")
        left = ask("--upgrade-all")
    assert (
        f"Feature: metadata.version  SupportedMinVersion: 1  SupportedMaxVersion: {LAST}  "
        f"FinalizedMinVersionLevel: {FIRST}     FinalizedMaxVersionLevel: {FIRST}     Epoch: N"
    ) in described[1]
    assert dry == (0, [raise_line(FIRST, LAST)], [])
    assert (updated[0], updated[2]) == (1, ["1 out of 2 operation(s) failed."])
    done, failed = updated[1]
    assert done == raise_line(FIRST, FIRST + 1)
    assert failed.startswith("    [Add] Feature: unheard.of       ExistingFinalizedMaxVersion: -  ")
    assert "Local controller N does not support this feature" in failed
    assert (refused[0], refused[1][0].partition(":")[0]) == (1, "[Delete] Feature")
    assert refused[1][0].endswith("Local controller N only supports versions 1-21")
    [change] = json.loads("\n".join(raised[1]))["features"]
    assert (change["before"], change["level"], change["error"]) == (FIRST + 1, LAST, None)
    assert left == (0, ["Nothing to change: no feature is below the levels of release 3.9.1."], [])
