"""The configuration of connections, from the file of --command-config."""

from pathlib import Path

from falkirk.client.config import ClientConfig
from falkirk.storage.properties_file import parse_properties


def read_client_config(command_config: str | None) -> ClientConfig:
    """Read the file, if one is given. Raises ClientConfigError, OSError."""
    if command_config is None:
        return ClientConfig()
    properties = parse_properties(Path(command_config).read_bytes(), file=command_config)
    return ClientConfig.from_properties(properties.as_dict())
