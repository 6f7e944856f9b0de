"""Local S3 object stores in processes of their own, and the environment that points PyArrow and delta-rs to them."""

import re
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import boto3
from spark_standalone import wait_for

from fetch_jars import fetch_jars
from fetch_kafka import required_program

BUCKET = "fleet"
# Not a thread of the test: delta-rs holds Python's lock while it waits for the store.
_SERVER = """
import logging
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
logging.getLogger("werkzeug").setLevel(logging.INFO)
print(server.get_host_and_port()[1], flush=True)
input()
"""
_REQUEST = re.compile(r'"(GET|HEAD|PUT|POST|DELETE) (\S+) HTTP')


# Of the AWS SDK's checksums behind an upload S3Proxy knows nothing.
_PROXY_ENVIRONMENT = {"AWS_REQUEST_CHECKSUM_CALCULATION": "when_required"}
_PROXY = ("org.gaul", "s3proxy", "3.0.0")
_PROXY_MAIN = "org.gaul.s3proxy.Main"
_PROXY_SETTINGS = """
s3proxy.endpoint=http://127.0.0.1:0
s3proxy.authorization=aws-v2-or-v4
s3proxy.identity=key
s3proxy.credential=secret
s3proxy.ignore-unknown-headers=true
jclouds.provider=filesystem-nio2
jclouds.identity=key
jclouds.credential=secret
jclouds.filesystem.basedir={folder}/data
"""
_PROXY_STARTED = r"ServerConnector.*\{127\.0\.0\.1:([1-9]\d*)\}"


class ObjectStore:
    """Stores files; `environment` is what a process needs to read them."""

    def __init__(self, endpoint, log):
        self.environment = {
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_DEFAULT_REGION": "us-east-1",
        }
        self._log = log
        self._client = boto3.client(
            "s3",
            endpoint_url=endpoint,
            region_name="us-east-1",
            aws_access_key_id="key",
            aws_secret_access_key="secret",  # noqa: S106 - of a server that lives as long as a test
        )
        self._client.create_bucket(Bucket=BUCKET)

    def put(self, key, data):
        """Store an object; return its URI."""
        self._client.put_object(Bucket=BUCKET, Key=key, Body=data)
        return f"s3://{BUCKET}/{key}"

    def put_tree(self, prefix, folder):
        """Store all files of a folder; return its URI."""
        for path in folder.rglob("*"):
            if path.is_file():
                self.put(f"{prefix}/{path.relative_to(folder).as_posix()}", path.read_bytes())
        return f"s3://{BUCKET}/{prefix}"

    def requests(self):
        """Return (method, path) of every request so far."""
        return _REQUEST.findall(self._log.read_text())


@contextmanager
def object_store():
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        command = [sys.executable, "-c", _SERVER]
        with (
            log.open("wb") as stderr,
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr) as server,
        ):
            try:
                yield ObjectStore(f"http://127.0.0.1:{int(server.stdout.readline())}", log)
            finally:
                server.kill()


@contextmanager
def s3proxy():
    """Start S3Proxy, which keeps objects in files: a server that shares no code with moto."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "data").mkdir()
        (folder / "settings").write_text(_PROXY_SETTINGS.format(folder=folder))
        jars = fetch_jars("s3proxy", [_PROXY], with_dependencies=True)
        options = ["-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", f"{jars}/*"]
        command = [required_program("java", "S3Proxy"), *options, _PROXY_MAIN, "--properties", folder / "settings"]
        log = folder / "log"
        with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT) as server:
            try:
                port = wait_for((server, log), _PROXY_STARTED)
                store = ObjectStore(f"http://127.0.0.1:{port}", log)
                store.environment |= _PROXY_ENVIRONMENT
                yield store
            finally:
                server.kill()
