"""The definition of a key, under the name that it had here."""

from falkirk.versions.config_definition import (
    ConfigError,
    ConfigType,
    Definition,
    DistinctListOf,
    InvalidValueError,
    ListOf,
    MetadataVersionName,
    NonEmpty,
    OneOf,
    Range,
    Required,
    Value,
)

__all__ = [
    "ConfigError",
    "ConfigType",
    "Definition",
    "DistinctListOf",
    "InvalidValueError",
    "ListOf",
    "MetadataVersionName",
    "NonEmpty",
    "OneOf",
    "Range",
    "Required",
    "Value",
]
