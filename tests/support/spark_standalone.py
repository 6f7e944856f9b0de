"""A standalone Spark cluster on this machine: a master and workers, each in its own JVM.

PySpark's package has `spark-class`, but none of the scripts that start clusters.
"""

import os
import re
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pyspark

SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
# On a machine with much else to do; what has ended fails at once.
DEADLINE_SECONDS = 300


@contextmanager
def standalone_cluster(folder, workers=2):
    """Start a cluster, yield the master's URL, and stop all of it by pid."""
    started = []
    try:
        master = _start(folder, "master", "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", "0")
        started.append(master)
        url = wait_for(master, r"Starting Spark master at (spark://[\d.]+:\d+)")
        for number in range(workers):
            words = [
                "--host",
                "127.0.0.1",
                "--cores",
                "1",
                "--memory",
                "1g",
                "--work-dir",
                str(folder / f"work-{number}"),
            ]
            worker = _start(folder, f"worker-{number}", "org.apache.spark.deploy.worker.Worker", *words, url)
            started.append(worker)
        for worker in started[1:]:
            wait_for(worker, r"(Successfully registered with master)")
        yield url
    finally:
        for process, _ in reversed(started):
            process.terminate()
            process.wait(30)


def _start(folder, name, main, *words):
    log = folder / f"{name}.log"
    environment = os.environ | {
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_NO_DAEMONIZE": "1",
        "SPARK_DAEMON_MEMORY": "256m",
    }
    with log.open("wb") as out:
        process = subprocess.Popen(
            [str(SPARK_CLASS), main, "--webui-port", "0", *words], stdout=out, stderr=subprocess.STDOUT, env=environment
        )
    return process, log


def wait_for(started, pattern):
    process, log = started
    deadline = time.monotonic() + DEADLINE_SECONDS
    while time.monotonic() < deadline:
        found = re.search(pattern, log.read_text(errors="replace"))
        if found:
            return found[1]
        assert process.poll() is None, log.read_text(errors="replace")
        time.sleep(0.1)
    raise AssertionError(f"{log}: no {pattern} in {DEADLINE_SECONDS} s\n{log.read_text(errors='replace')}")
