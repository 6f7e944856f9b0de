"""A real local S3 object store on a port of its own, and the environment that points PyArrow to it."""

from contextlib import contextmanager

import boto3
from moto.server import ThreadedMotoServer

BUCKET = "fleet"


class ObjectStore:
    """Stores files; `environment` is what a process needs to read them."""

    def __init__(self, endpoint):
        self.environment = {
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_DEFAULT_REGION": "us-east-1",
        }
        self._client = boto3.client(
            "s3",
            endpoint_url=endpoint,
            region_name="us-east-1",
            aws_access_key_id="key",
            aws_secret_access_key="secret",  # noqa: S106 - moto asks for any
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


@contextmanager
def object_store():
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    try:
        yield ObjectStore(f"http://{host}:{port}")
    finally:
        server.stop()
