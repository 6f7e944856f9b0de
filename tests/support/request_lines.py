"""Reads what falkirk wrote into a request log."""

import msgspec

from falkirk.storage.request_line import RequestLine


def read_request_line(line: bytes) -> RequestLine:
    return msgspec.json.decode(line, type=RequestLine)
