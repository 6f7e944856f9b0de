"""The OCI image: built by the recipe, then run by runc as a user, on a root that it cannot write.

Needs root, and Debian's packages mmdebstrap, umoci and runc.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from archives import unpack
from built_packages import EPOCH
from played_pages import ROOT

pytestmark = [pytest.mark.full, pytest.mark.slow]
TOOLS = ("mmdebstrap", "umoci", "runc")
USER = 1000
HOME = "/var/lib/falkirk"
APT_SOURCES = ("/etc/apt/sources.list", "/etc/apt/sources.list.d")


def build(wheel, layout):
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing or os.geteuid() != 0:
        pytest.fail(f"an image is built by root, with Debian's packages {', '.join(TOOLS)}; missing: {missing}")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    command = [ROOT / "packaging" / "oci" / "build.sh", wheel, layout]
    done = subprocess.run(command, env=os.environ | EPOCH | {"PATH": path}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return layout


@pytest.fixture(scope="module")
def layout(wheel, tmp_path_factory):
    return build(wheel, tmp_path_factory.mktemp("oci") / "layout")


@pytest.fixture
def bundle(layout, tmp_path):
    """The image unpacked, as a runtime takes it."""
    made = tmp_path / "bundle"
    subprocess.run(["umoci", "unpack", "--image", f"{layout}:falkirk", made], check=True, capture_output=True)
    return made


def run(bundle, *words, entry_point=None, mounts=()):
    """Run a container with a volume and a root that it cannot write; return what it said. `mounts` are read only."""
    volume = bundle.parent / "volume"
    volume.mkdir()
    os.chown(volume, USER, USER)
    config = json.loads((bundle / "config.json").read_text())
    config["root"]["readonly"] = True
    config["process"]["terminal"] = False
    config["process"]["args"] = [*(entry_point or config["process"]["args"][:1]), *map(str, words)]
    config["mounts"] = [each for each in config["mounts"] if each["destination"] != HOME]
    config["mounts"] += [{"destination": HOME, "type": "bind", "source": str(volume), "options": ["rbind", "rw"]}]
    config["mounts"] += [
        {"destination": there, "type": "bind", "source": str(here), "options": ["rbind", "ro"]}
        for there, here in mounts
    ]
    (bundle / "config.json").write_text(json.dumps(config))
    command = ["runc", "run", "--bundle", bundle, f"falkirk-{os.getpid()}"]
    return subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=120)


def test_its_entry_point_is_falkirk_which_runs_as_a_user(bundle):
    config = json.loads((bundle / "config.json").read_text())
    assert config["process"]["user"]["uid"] == USER
    done = run(bundle, "--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("falkirk ")


def test_the_root_cannot_be_written_and_its_own_directory_can(bundle):
    script = "id -u; touch there && echo written; touch /usr/there /tmp/there"
    done = run(bundle, "-c", script, entry_point=["/bin/sh"])
    assert done.stdout.split() == [str(USER), "written"]
    assert done.stderr.count("Read-only file system") == 2


def test_it_says_what_a_clusters_directories_would_lose(bundle, tmp_path):
    unpack(ROOT / "demo" / "data" / "cluster-4.3.1.tar.gz", tmp_path)
    subprocess.run(["chown", "-R", f"{USER}:{USER}", tmp_path / "cluster"], check=True)
    words = ("logdir", "plan", "/cluster/node-1", "--to", "3.9")
    done = run(bundle, *words, mounts=[("/cluster", tmp_path / "cluster")])
    assert done.returncode == 3, done.stderr
    assert "Would be lost: 51" in done.stdout


def test_it_formats_and_serves_a_node_which_answers(bundle, tmp_path):
    properties = tmp_path / "server.properties"
    properties.write_text(
        "process.roles=broker,controller\nnode.id=1\nlog.dirs=/var/lib/falkirk/data\n"
        "listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093\n"
        "controller.listener.names=CONTROLLER\ncontroller.quorum.voters=1@127.0.0.1:9093\n"
    )
    script = (
        "set -e; falkirk storage format --config /server.properties --cluster-id yylGo1ijR1acfIGbD1wMdA --release 4.3\n"
        "falkirk serve /server.properties --release 4.3 2> /var/lib/falkirk/log & node=$!\n"
        "until falkirk features --bootstrap-server 127.0.0.1:9092 describe 2> /dev/null; do sleep 0.2; done\n"
        "kill $node; wait $node"
    )
    done = run(bundle, "-c", script, entry_point=["/bin/sh"], mounts=[("/server.properties", properties)])
    assert done.returncode == 0, done.stdout + done.stderr
    assert "FinalizedVersionLevel: 4.3-IV0" in done.stdout


def test_it_names_no_mirror_and_has_no_package_manager(bundle):
    apt = [Path(place) for place in APT_SOURCES]
    files = [file for place in apt for file in ([place] if place.is_file() else place.rglob("*"))]
    lines = [line for file in files for line in file.read_text().splitlines() if not line.startswith("#")]
    hosts = {word.split("/")[2].encode() for line in lines for word in line.split() if "://" in word}
    root = bundle / "rootfs"
    assert not (root / "usr" / "bin" / "apt-get").exists()
    regular = [path for path in root.rglob("*") if path.is_file() and not path.is_symlink()]
    assert len(regular) > 1000
    assert [path for path in regular if any(host in path.read_bytes() for host in hosts)] == []


def test_it_is_the_same_bytes_each_time(layout, wheel, tmp_path):
    again = build(wheel, tmp_path / "layout")
    assert (again / "index.json").read_bytes() == (layout / "index.json").read_bytes()
