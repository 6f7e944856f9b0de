"""A Spark Connect server on this machine, in a JVM of its own; PySpark's package has its jars."""

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pyspark
from spark_standalone import wait_for

HOME = Path(pyspark.__file__).parent
MAIN = "org.apache.spark.sql.connect.service.SparkConnectServer"
SETTINGS = {
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.grpc.binding.port": "0",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
}


@contextmanager
def connect_server(folder):
    """Start a server with two cores, yield its URL, and stop it by pid."""
    log = folder / "connect.log"
    settings = [word for name, value in SETTINGS.items() for word in ("--conf", f"{name}={value}")]
    command = [HOME / "bin" / "spark-submit", "--class", MAIN, "--master", "local[2]", *settings, "spark-internal"]
    environment = os.environ | {
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_HOME": str(HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=environment, cwd=folder)
    try:
        port = wait_for((process, log), r"Spark Connect server started at: \S*?:(\d+)")
        yield f"sc://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)
