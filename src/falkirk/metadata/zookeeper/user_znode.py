"""The znode of a user's configuration: SCRAM credentials in `/config/users/<name>`.

`{"version":1,"config":{"SCRAM-SHA-256":"salt=...,stored_key=...,server_key=...,iterations=4096"}}`

Salt and keys are base64, the name is percent-encoded. Other configuration (quotas) is ignored.
"""

from __future__ import annotations

import re
from base64 import b64decode
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote_plus

from falkirk.metadata.image.scram import ScramCredential, ScramUser
from falkirk.metadata.zookeeper.znode_json import read_object, read_version
from falkirk.protocol.sasl.scram_mechanism import SCRAM_MECHANISMS

if TYPE_CHECKING:
    from collections.abc import Mapping

USERS_PATH: Final = "/config/users"

_VERSIONS: Final = range(1, 2)
_BASE_64: Final = r"((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)"
_CREDENTIAL: Final = re.compile(
    f"salt={_BASE_64},stored_key={_BASE_64},server_key={_BASE_64},iterations=([0-9]{{1,9}})"
)


def decode_user(data: bytes, path: str) -> Mapping[ScramUser, ScramCredential]:
    """Decode the credentials of the user whose znode has this path; an empty znode has none.

    Raises ZnodeError, whose message never contains a credential.
    """
    if not data:
        return {}
    znode = read_object(data, path)
    read_version(znode, _VERSIONS)
    name = unquote_plus(path.rpartition("/")[2])
    found = {}
    for key, text in znode.named_texts("config"):
        mechanism = SCRAM_MECHANISMS.get(key)
        if mechanism is None:
            continue
        match = _CREDENTIAL.fullmatch(text)
        if match is None:
            raise znode.fault(f"config.{key} is not salt=...,stored_key=...,server_key=...,iterations=...")
        salt, stored_key, server_key = (b64decode(match[number]) for number in (1, 2, 3))
        found[ScramUser(mechanism.number, name)] = ScramCredential(salt, stored_key, server_key, int(match[4]))
    return found
