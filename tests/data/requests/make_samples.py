"""Makes the samples in this folder anew, with real Kafka: `python make_samples.py [RELEASE...]`; see README.md.

Needs what tests/interop needs, kafka-python (dependency group `bench`), and the log bindings of Kafka's own
distributions, which Maven fetches.
"""

import gzip
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(ROOT / "tests" / "interop"), str(ROOT / "tools")]

from kafka import KafkaConsumer  # noqa: E402
from kafka_cluster import KafkaCluster  # noqa: E402
from kafka_java import answers, seed  # noqa: E402

from falkirk.protocol import codec  # noqa: E402
from falkirk.protocol.messages import REQUESTS, message_class  # noqa: E402
from fetch_kafka import kafka_libs, required_program  # noqa: E402

# What a distribution brings in place of slf4j-simple; log4j-core is there already.
BINDINGS = {
    "3.9.1": ("org.slf4j:slf4j-reload4j:1.7.36", "ch.qos.reload4j:reload4j:1.2.25"),
    "4.3.1": ("org.apache.logging.log4j:log4j-slf4j-impl:2.25.4",),
}
BOOT_USER = "SCRAM-SHA-512=[name=boot,password=secret-boot]"
LINES_PER_KIND = 2
# Versions that 3.9 calls deprecated (KIP-896), beside one that it does not: ListOffsets, CreateTopics, Metadata.
OLD_REQUESTS = ((2, 0), (19, 0), (3, 0))


def log4j_settings(release, log):
    """The layout and the file of the request log as in Kafka's own config/log4j.properties or log4j2.yaml."""
    if release.startswith("3."):
        return (
            "log4j.configuration",
            f"""
log4j.rootLogger=INFO, stdout
log4j.appender.stdout=org.apache.log4j.ConsoleAppender
log4j.appender.stdout.layout=org.apache.log4j.PatternLayout
log4j.appender.stdout.layout.ConversionPattern=[%d] %p %m (%c)%n
log4j.appender.requestAppender=org.apache.log4j.DailyRollingFileAppender
log4j.appender.requestAppender.DatePattern='.'yyyy-MM-dd-HH
log4j.appender.requestAppender.File={log}
log4j.appender.requestAppender.layout=org.apache.log4j.PatternLayout
log4j.appender.requestAppender.layout.ConversionPattern=[%d] %p %m (%c)%n
log4j.logger.kafka.request.logger=DEBUG, requestAppender
log4j.additivity.kafka.request.logger=false
""",
        )
    return (
        "log4j2.configurationFile",
        f"""
rootLogger=INFO, STDOUT
appender.stdout.type=Console
appender.stdout.name=STDOUT
appender.stdout.layout.type=PatternLayout
appender.stdout.layout.pattern=[%d] %p %m (%c)%n
appender.request.type=RollingFile
appender.request.name=RequestAppender
appender.request.fileName={log}
appender.request.filePattern={log}.%d{{yyyy-MM-dd-HH}}
appender.request.layout.type=PatternLayout
appender.request.layout.pattern=[%d] %p %m (%c)%n
appender.request.policies.type=TimeBasedTriggeringPolicy
logger.request.name=kafka.request.logger
logger.request.level=DEBUG
logger.request.additivity=false
logger.request.appenderRef.request.ref=RequestAppender
""",
    )


def log4j_cache(release, home):
    """A cache for the harness whose jars of the release have the distribution's binding."""
    libs = home / "cache" / "kafka" / release / "libs"
    libs.mkdir(parents=True)
    for jar in kafka_libs(release).glob("*.jar"):
        if "slf4j-simple" not in jar.name:
            (libs / jar.name).symlink_to(jar)
    maven = required_program("mvn", "fetching log bindings")
    goal = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
    for artifact in BINDINGS[release]:
        command = [maven, "--quiet", "--batch-mode", goal, f"-Dartifact={artifact}", f"-DoutputDirectory={libs}"]
        subprocess.run(command, check=True)
    return home / "cache"


def start(cluster, options, cache=None):
    """Start with more options for the JVM, and other jars."""
    os.environ["JAVA_TOOL_OPTIONS"] = options
    before = os.environ.get("FALKIRK_CACHE")
    if cache is not None:
        os.environ["FALKIRK_CACHE"] = str(cache)
    try:
        cluster.start()
    finally:
        del os.environ["JAVA_TOOL_OPTIONS"]
        os.environ.pop("FALKIRK_CACHE")
        if before is not None:
            os.environ["FALKIRK_CACHE"] = before


def drive(cluster):
    """Java clients of the harness, kafka-python, and requests of old versions."""
    seed(cluster.bootstrap_servers, "--messages", "50")
    answers(cluster.bootstrap_servers, "--scram", cluster.scram_servers)
    consumer = KafkaConsumer(bootstrap_servers=cluster.bootstrap_servers, client_id="kafka-python-consumer")
    consumer.topics()
    consumer.close()
    host, port = cluster.bootstrap_servers.split(":")
    for api_key, version in OLD_REQUESTS:
        body = codec.encode(message_class(REQUESTS[api_key])(), version)
        client_id = b"raw-socket"
        header = b"".join(number.to_bytes(2, "big") for number in (api_key, version)) + (7).to_bytes(4, "big")
        request = header + len(client_id).to_bytes(2, "big") + client_id + body
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            connection.sendall(len(request).to_bytes(4, "big") + request)
            connection.recv(4)


def sample(lines):
    """The first lines of each kind, in their order; of lines of other loggers a few."""
    seen = Counter()
    kept = []
    for line in lines:
        kind = "other"
        _, mark, rest = line.partition("Completed request:")
        if mark:
            request, _ = json.JSONDecoder().raw_decode(rest)
            header = request["requestHeader"]
            keys = ("requestApiKey", "requestApiVersion", "requestApiVersionDeprecated")
            client = request["clientInformation"]["softwareName"]
            error = request["response"].get("errorCode")
            is_transactional = request["request"].get("transactionalId") is not None
            rest_of_kind = request["listener"], request["isForwarded"], client, error, is_transactional
            kind = (*(header.get(key) for key in keys), *rest_of_kind)
        seen[kind] += 1
        if seen[kind] <= (10 if kind == "other" else LINES_PER_KIND):
            kept.append(line)
    return kept


def keep(name, log, home):
    """Write a sample, without the place where it was made."""
    lines = sample(log.read_text().replace(str(home), "/kafka").splitlines(keepends=True))
    with gzip.GzipFile(HERE / name, "wb", mtime=0) as file:
        file.write("".join(lines).encode())
    print(f"{name}: {len(lines)} lines")  # noqa: T201 - says what it made


def make(release, home):
    """Run the release twice: with its own distribution's log layout, and with that of the harness."""
    log = home / "kafka-request.log"
    option, settings = log4j_settings(release, log)
    (home / "log.properties").write_text(settings)
    cluster = KafkaCluster.new(release, home / "log4j")
    cluster.format(scram=[BOOT_USER])
    start(cluster, f"-D{option}={(home / 'log.properties').as_uri()}", log4j_cache(release, home))
    try:
        drive(cluster)
    finally:
        cluster.stop()
    keep(f"log4j-{release}.log.gz", log, home)

    cluster = KafkaCluster.new(release, home / "simple")
    cluster.format(scram=[BOOT_USER])
    start(cluster, "-Dorg.slf4j.simpleLogger.log.kafka.request.logger=debug", kafka_libs(release).parents[2])
    try:
        drive(cluster)
    finally:
        cluster.stop()
    keep(f"simple-{release}.log.gz", cluster.nodes[1].log_file, home)


if __name__ == "__main__":
    for each in sys.argv[1:] or BINDINGS:
        with tempfile.TemporaryDirectory() as folder:
            make(each, Path(folder))
