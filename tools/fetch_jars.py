"""Fetch jars of a registry with Maven, into `.cache` of the clone or below $FALKIRK_CACHE."""

import subprocess
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path

from fetch_kafka import COPY_GOAL, FetchError, cache_dir, exclusive, pom_children, required_program

_TIMEOUT_S = 300


def fetch_jars(name: str, wanted: Sequence[tuple[str, str, str]], *, with_dependencies: bool) -> Path:
    """Return the folder with the jars of (group, artifact, version); it has a name of its own. Raises FetchError."""
    folder = cache_dir() / name / "-".join(wanted[0][1:])
    with exclusive(cache_dir() / f"{name}.lock"):
        if not folder.is_dir():
            _fetch(name, wanted, folder, with_dependencies=with_dependencies)
    return folder


def _fetch(name: str, wanted: Sequence[tuple[str, str, str]], folder: Path, *, with_dependencies: bool) -> None:
    maven = required_program("mvn", f"fetching {name}")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as aside:
        pom, jars = Path(aside) / "pom.xml", Path(aside) / "jars"
        ET.ElementTree(_pom(name, wanted, with_dependencies=with_dependencies)).write(pom, encoding="unicode")
        command = [maven, "--quiet", "--batch-mode", "--strict-checksums", f"--file={pom}", COPY_GOAL]
        command += [f"-DoutputDirectory={jars}", "-DincludeScope=runtime"]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False, stdin=subprocess.DEVNULL
        )
        if done.returncode != 0:
            tail = "\n".join((done.stdout + done.stderr).splitlines()[-20:])
            raise FetchError(f"Maven could not fetch {name} (exit status {done.returncode}):\n{tail}")
        jars.rename(folder)


def _pom(name: str, wanted: Sequence[tuple[str, str, str]], *, with_dependencies: bool) -> ET.Element:
    project = ET.Element("project", xmlns="http://maven.apache.org/POM/4.0.0")
    pom_children(project, modelVersion="4.0.0", groupId="falkirk", artifactId=name, version="1", packaging="pom")
    dependencies = ET.SubElement(project, "dependencies")
    for group, artifact, version in wanted:
        dependency = ET.SubElement(dependencies, "dependency")
        pom_children(dependency, groupId=group, artifactId=artifact, version=version)
        if not with_dependencies:
            exclusion = ET.SubElement(ET.SubElement(dependency, "exclusions"), "exclusion")
            pom_children(exclusion, groupId="*", artifactId="*")
    return project
