"""`falkirk dump-log` and Kafka's own dump tool print the same for every file of a cluster."""

import subprocess
import sys
from pathlib import Path

import pytest
from archives import unpack
from kafka_java import jvm_command

from fetch_kafka import kafka_libs

pytestmark = pytest.mark.interop

FALKIRK = Path(sys.executable).with_name("falkirk")
ARCHIVE = Path(__file__).parents[2] / "demo" / "data" / "cluster-4.3.1.tar.gz"
# The tool moved from Scala to Java with 4.1.
TOOLS = {
    "3.7.2": "kafka.tools.DumpLogSegments",
    "3.9.1": "kafka.tools.DumpLogSegments",
    "4.0.0": "kafka.tools.DumpLogSegments",
    "4.3.1": "org.apache.kafka.tools.DumpLogSegments",
}
# Options, and the files that they are for.
DUMPS = [
    (["--cluster-metadata-decoder"], ["__cluster_metadata-0/*.log", "*.checkpoint"]),
    (["--offsets-decoder"], ["__consumer_offsets-*/*.log"]),
    (["--transaction-log-decoder"], ["__transaction_state-*/*.log"]),
    (["--print-data-log"], ["[!_]*/*.log"]),
    (["--deep-iteration"], ["[!_]*/*.log"]),
    ([], ["*.snapshot", "*.txnindex", "*.index", "*.timeindex"]),
    (["--index-sanity-check"], ["*.index", "*.timeindex"]),
]


@pytest.mark.full  # tests/cli/test_dump_log.py holds us to what the tools printed of real files
@pytest.mark.parametrize("release", TOOLS)
def test_both_tools_print_the_same(release: str, tools_api: Path, tmp_path: Path) -> None:
    unpack(ARCHIVE, tmp_path)
    root = tmp_path / "cluster"
    if release != "4.3.1":
        level = release.rpartition(".")[0]
        options = ["--to", level, "--unsafe", "--out", str(tmp_path / "out")]
        subprocess.run([FALKIRK, "logdir", "downgrade", str(root), *options], check=True, capture_output=True)
        root = tmp_path / "out"
    dumps = (
        [*DUMPS, (["--share-group-state-decoder"], ["__share_group_state-*/*.log"])] if release == "4.3.1" else DUMPS
    )
    for options, patterns in dumps:
        files = sorted(str(path) for pattern in patterns for path in root.rglob(pattern))
        assert files, patterns
        arguments = [*options, "--files", ",".join(files)]
        ours = printed([str(FALKIRK), "dump-log", "--release", release, *arguments])
        theirs = printed(kafka_tool(release, tools_api, arguments))
        assert ours.splitlines() == theirs.splitlines(), options
        assert len(ours) > 500, options


def kafka_tool(release: str, tools_api: Path, arguments: list[str]) -> list[str]:
    kafka_libs(release)
    return jvm_command(release, TOOLS[release], arguments, jars=[tools_api], log_level="error")


def printed(command: list[str]) -> str:
    # Either ends with 1 where an index is told to be out of step; what it says of it is compared.
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout
