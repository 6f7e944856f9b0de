"""XXH3 of 64 bits with seed 0, the hash that Kafka 4.1 and later sums up a group's topics with.

Source: https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md
"""

from __future__ import annotations

import struct
from typing import Final


def xxh3_64(data: bytes) -> int:
    """Give the hash of any number of bytes, from 0 up to 2^64, without 2^64."""
    length = len(data)
    if length <= _SHORT_MAX:
        return _hash_short(data)
    if length <= _MEDIUM_SMALL_MAX:
        return _hash_medium_small(data)
    if length <= _MEDIUM_MAX:
        return _hash_medium(data)
    return _hash_long(data)


_MASK: Final = (1 << 64) - 1
_PRIME32: Final = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D)
_PRIME64: Final = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)
_PRIME_MX1: Final = 0x165667919E3779F9
_PRIME_MX2: Final = 0x9FB21C651E98DF25
_SHORT_MAX: Final = 16
_MEDIUM_SMALL_MAX: Final = 128
_MEDIUM_MAX: Final = 240
_STRIPE: Final = 64
_SECRET: Final = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
    "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)
_STRIPES_IN_BLOCK: Final = (len(_SECRET) - _STRIPE) // 8
_LANES: Final = struct.Struct("<8Q")
_SECRET_LANES: Final = [_LANES.unpack_from(_SECRET, 8 * stripe) for stripe in range(_STRIPES_IN_BLOCK)]
_SCRAMBLE_LANES: Final = _LANES.unpack_from(_SECRET, len(_SECRET) - _STRIPE)
_LAST_STRIPE_LANES: Final = _LANES.unpack_from(_SECRET, len(_SECRET) - _STRIPE - 7)


def _u64(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 8], "little")


def _u32(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "little")


def _fold(left: int, right: int) -> int:
    product = left * right
    return (product & _MASK) ^ (product >> 64)


def _avalanche(value: int) -> int:
    value ^= value >> 37
    value = value * _PRIME_MX1 & _MASK
    return value ^ (value >> 32)


def _avalanche_short(value: int) -> int:
    """Mix as XXH64 does, for the shortest inputs."""
    value ^= value >> 33
    value = value * _PRIME64[1] & _MASK
    value ^= value >> 29
    value = value * _PRIME64[2] & _MASK
    return value ^ (value >> 32)


def _hash_short(data: bytes) -> int:
    length = len(data)
    if length == 0:
        return _avalanche_short(_u64(_SECRET, 56) ^ _u64(_SECRET, 64))
    if length <= 3:
        combined = data[length - 1] | length << 8 | data[0] << 16 | data[length >> 1] << 24
        return _avalanche_short(combined ^ _u32(_SECRET, 0) ^ _u32(_SECRET, 4))
    if length <= 8:
        value = (_u32(data, length - 4) | _u32(data, 0) << 32) ^ _u64(_SECRET, 8) ^ _u64(_SECRET, 16)
        value ^= _rotated(value, 49) ^ _rotated(value, 24)
        value = value * _PRIME_MX2 & _MASK
        value ^= (value >> 35) + length
        value = value * _PRIME_MX2 & _MASK
        return value ^ (value >> 28)
    low = _u64(data, 0) ^ _u64(_SECRET, 24) ^ _u64(_SECRET, 32)
    high = _u64(data, length - 8) ^ _u64(_SECRET, 40) ^ _u64(_SECRET, 48)
    swapped = int.from_bytes(low.to_bytes(8, "little"), "big")
    return _avalanche((length + swapped + high + _fold(low, high)) & _MASK)


def _rotated(value: int, bits: int) -> int:
    return (value << bits | value >> (64 - bits)) & _MASK


def _mix(data: bytes, at: int, secret_at: int) -> int:
    return _fold(_u64(data, at) ^ _u64(_SECRET, secret_at), _u64(data, at + 8) ^ _u64(_SECRET, secret_at + 8))


def _hash_medium_small(data: bytes) -> int:
    length = len(data)
    sum_ = length * _PRIME64[0]
    for index in range((length - 1) // 32 + 1):
        sum_ += _mix(data, 16 * index, 32 * index) + _mix(data, length - 16 * (index + 1), 32 * index + 16)
    return _avalanche(sum_ & _MASK)


def _hash_medium(data: bytes) -> int:
    length = len(data)
    sum_ = length * _PRIME64[0]
    for index in range(8):
        sum_ += _mix(data, 16 * index, 16 * index)
    sum_ = _avalanche(sum_ & _MASK)
    for index in range(8, length // 16):
        sum_ += _mix(data, 16 * index, 16 * (index - 8) + 3)
    sum_ += _mix(data, length - 16, 136 - 17)
    return _avalanche(sum_ & _MASK)


def _hash_long(data: bytes) -> int:
    lanes = [
        _PRIME32[2],
        _PRIME64[0],
        _PRIME64[1],
        _PRIME64[2],
        _PRIME64[3],
        _PRIME32[1],
        _PRIME64[4],
        _PRIME32[0],
    ]
    # The last stripe is mixed in by itself, though it overlaps the one before, or is the very same.
    for stripe in range((len(data) - 1) // _STRIPE):
        in_block = stripe % _STRIPES_IN_BLOCK
        _accumulate(lanes, _LANES.unpack_from(data, stripe * _STRIPE), _SECRET_LANES[in_block])
        if in_block == _STRIPES_IN_BLOCK - 1:
            _scramble(lanes)
    _accumulate(lanes, _LANES.unpack_from(data, len(data) - _STRIPE), _LAST_STRIPE_LANES)
    result = len(data) * _PRIME64[0]
    for index in range(0, 8, 2):
        at = 11 + 8 * index
        result += _fold(lanes[index] ^ _u64(_SECRET, at), lanes[index + 1] ^ _u64(_SECRET, at + 8))
    return _avalanche(result & _MASK)


def _accumulate(lanes: list[int], stripe: tuple[int, ...], secret: tuple[int, ...]) -> None:
    for lane in range(8):
        value = stripe[lane]
        key = value ^ secret[lane]
        lanes[lane ^ 1] = (lanes[lane ^ 1] + value) & _MASK
        lanes[lane] = (lanes[lane] + (key & 0xFFFFFFFF) * (key >> 32)) & _MASK


def _scramble(lanes: list[int]) -> None:
    for lane in range(8):
        value = lanes[lane]
        value ^= value >> 47
        value ^= _SCRAMBLE_LANES[lane]
        lanes[lane] = value * _PRIME32[0] & _MASK
