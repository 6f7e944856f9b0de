"""What `pip install falkirk` installs: reproducible, complete, and light where only the command line is wanted."""

import json
import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from archives import unpack
from built_packages import built
from kafka_ports import free_ports
from played_pages import ROOT

PYTHONS = ("3.11", "3.12", "3.13")
COMPILER = ROOT / "tools" / "compile.py"
# What only an extra brings, and what a first start must not pay for.
HEAVY = {
    "aiohttp", "deltalake", "fsspec", "jinja2", "kazoo", "matplotlib", "numpy", "pandas", "pyarrow", "pyspark", "py4j",
    "pytest", "starlette", "uvicorn",
}  # fmt: skip


@pytest.mark.slow
def test_packages_are_the_same_bytes_each_time_and_from_the_sdist(wheel, tmp_path):
    sdist = built(ROOT, tmp_path / "sdist", "sdist")
    assert built(ROOT, tmp_path / "again", "sdist").read_bytes() == sdist.read_bytes()
    unpack(sdist, tmp_path / "unpacked")
    [source] = list((tmp_path / "unpacked").iterdir())
    assert built(source, tmp_path / "from-sdist", "wheel").read_bytes() == wheel.read_bytes()


@pytest.mark.slow
def test_the_wheel_has_the_package_its_types_and_its_entry_points(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        [entry_points] = [archive.read(name).decode() for name in names if name.endswith("entry_points.txt")]
    assert "falkirk/py.typed" in names
    sources = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src").rglob("*.py")}
    assert sources <= names
    assert not [name for name in names if name.startswith(("tests", "tools", "demo"))]
    assert "[console_scripts]\nfalkirk = falkirk.cli:main" in entry_points
    assert "[pytest11]\nfalkirk = falkirk.testing.pytest_plugin" in entry_points


def test_help_imports_nothing_that_an_extra_brings():
    program = (
        "import sys; from falkirk.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\nprint(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    imported = {name.partition(".")[0] for name in done.stdout.splitlines()[-1].split()}
    assert "falkirk" in imported
    assert imported & (HEAVY | {"asyncio", "cryptography", "rich", "uvloop"}) == set()


@pytest.mark.slow
@pytest.mark.parametrize("module", ["logdir", "lift", "features", "groups", "quorum", "cluster"])
def test_commands_import_nothing_that_an_extra_brings(module):
    program = f"import sys, falkirk.cli.{module}.commands\nprint(*sys.modules)"
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    imported = {name.partition(".")[0] for name in done.stdout.split()}
    assert imported & HEAVY == set()


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.parametrize("version", PYTHONS)
def test_it_installs_in_an_empty_environment_and_runs(wheel, tmp_path, version):
    check_installed(interpreter(version), wheel, tmp_path, build="source")


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.parametrize("version", PYTHONS)
def test_a_compiled_wheel_is_built_installs_in_an_empty_environment_and_runs(tmp_path, version):
    python = interpreter(version)
    subprocess.run([python, "-m", "venv", tmp_path / "builder"], check=True)
    command = [tmp_path / "builder" / "bin" / "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", tmp_path, ROOT]
    subprocess.run(command, env=own_environment() | {"FALKIRK_COMPILED": "1", "FALKIRK_OPT_LEVEL": "0"}, check=True)
    [wheel] = tmp_path.glob("*.whl")
    tag = "cp" + version.replace(".", "")
    assert f"-{tag}-{tag}-" in wheel.name, "for one version of CPython"
    check_installed(python, wheel, tmp_path, build="compiled")


def check_installed(python, wheel, folder, *, build):
    """Install a wheel in an environment of its own; have it plan the downgrade of a directory, and run a node."""
    subprocess.run([python, "-m", "venv", folder / "venv"], check=True)
    home = folder / "venv" / "bin"
    environment = own_environment()
    subprocess.run([home / "pip", "install", "--quiet", wheel], env=environment, check=True)
    unpack(ROOT / "demo" / "data" / "cluster-4.3.1.tar.gz", folder)
    for words, status in ((["--version"], 0), (["logdir", "plan", folder / "cluster" / "node-1", "--to", "3.9"], 3)):
        done = subprocess.run([home / "falkirk", *words], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == status, done.stdout + done.stderr
        assert words != ["--version"] or f"({build})" in done.stdout
    check_serves(home, folder, build=build)


def check_serves(home, folder, *, build):
    """Have an installed program run a broker that is its own controller, and ask it for its API versions."""
    broker, controller = free_ports(2)
    file = folder / "server.properties"
    file.write_text(
        f"process.roles=broker,controller\nnode.id=1\nlog.dirs={folder / 'data'}\n"
        f"listeners=PLAINTEXT://127.0.0.1:{broker},CONTROLLER://127.0.0.1:{controller}\n"
        f"controller.listener.names=CONTROLLER\ncontroller.quorum.voters=1@127.0.0.1:{controller}\n"
    )
    environment = own_environment()
    command = [home / "falkirk", "storage", "format", "--cluster-id", "AAAAAAAAAAAAAAAAAAAAAQ", "--config", file]
    subprocess.run(command, env=environment, check=True, capture_output=True)
    command = [home / "falkirk", "serve", file, "--json"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as node:
        try:
            assert json.loads(node.stdout.readline())["node_id"] == 1
            libraries = Path(f"/proc/{node.pid}/maps").read_text()
            assert ("falkirk__mypyc" in libraries) is (build == "compiled"), "which build the node runs"
            command = [home / "falkirk", "api-versions", "--bootstrap-server", f"127.0.0.1:{broker}"]
            told = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
            assert "Produce" in told
        finally:
            node.send_signal(signal.SIGTERM)
    assert node.returncode == 0


def test_without_a_c_compiler_a_compiled_build_ends_with_the_names_of_packages(tmp_path):
    environment = os.environ | {"CC": "no-such-compiler"}
    command = [sys.executable, COMPILER, tmp_path]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(
        "no compiled build without a C compiler (Debian's packages gcc, libc6-dev and python3"
    )


def own_environment():
    return {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}


def interpreter(version):
    """Return a Python of that version.

    Only the oldest supported one must be here: a bare machine has one Python, and what is compiled is made for each.
    """
    found = next((path for path in pythons(version) if path.exists()), None)
    assert found is not None or version != PYTHONS[0], "the oldest supported Python is needed"
    return found or pytest.skip(f"there is no Python {version} here")


def pythons(version):
    roots = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = sorted(roots.glob(f"{version}.*/bin/python")) if roots.exists() else []
    return [*found, Path(f"/usr/bin/python{version}")]
