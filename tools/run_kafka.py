"""Run a program of real Kafka: `run_kafka.py RELEASE PROGRAM ARGUMENTS...`, such as `4.3.1 kafka-topics --list`.

The programs are those of Kafka's `bin`, by the same names without `.sh`. Needs Java 17.
Jars that are missing are fetched by Maven.
"""

import os
import sys

from fetch_kafka import FetchError, kafka_libs, required_program

PROGRAMS = {
    "kafka-server-start": "kafka.Kafka",
    "kafka-features": "org.apache.kafka.tools.FeatureCommand",
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
    "kafka-producer-perf-test": "org.apache.kafka.tools.ProducerPerformance",
    "kafka-metadata-quorum": "org.apache.kafka.tools.MetadataQuorumCommand",
}
# Several nodes on a laptop, which live for minutes.
JVM_OPTIONS = ("-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
# Errors alone: a tool's output is not to be mixed with its client's log.
QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"


def main(arguments: list[str]) -> None:
    if len(arguments) < 2 or arguments[1] not in PROGRAMS:
        raise SystemExit(f"{__doc__}\nPrograms: {', '.join(PROGRAMS)}")
    release, program, *rest = arguments
    try:
        java = required_program("java", "real Kafka")
        jars = os.pathsep.join(str(jar) for jar in sorted(kafka_libs(release).glob("*.jar")))
    except FetchError as error:
        raise SystemExit(str(error)) from error
    options = JVM_OPTIONS if program == "kafka-server-start" else (*JVM_OPTIONS, QUIET)
    os.execv(java, [java, *options, "-cp", jars, PROGRAMS[program], *rest])  # noqa: S606 - a process of its own, with this one's pid


if __name__ == "__main__":
    main(sys.argv[1:])
