import pytest

from falkirk.node.config.config_providers import config_variables, read_providers, with_values
from falkirk.versions.configs.definition import ConfigError

PACKAGE = "org.apache.kafka.common.config.provider"
CONFIGURED = {
    "config.providers": "env, file,dir",
    "config.providers.env.class": f"{PACKAGE}.EnvVarConfigProvider",
    "config.providers.file.class": f"{PACKAGE}.FileConfigProvider",
    "config.providers.dir.class": f"{PACKAGE}.DirectoryConfigProvider",
}
VALUES = {"${env:HOST}": "a.b", "${file:/s/x.properties:key}": "${env:HOST}", "${dir:/s:password}": "secret\n"}


def replaced(properties):
    properties = CONFIGURED | properties
    found = with_values(properties, read_providers(properties), lambda variable: VALUES[str(variable)])
    return {name: value for name, value in found.items() if name not in CONFIGURED}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("C://${env:HOST}:9093,D://${env:HOST}:1", "C://a.b:9093,D://a.b:1"),
        # What is replaced is not searched again, and is parsed without the blanks around it.
        ("${file:/s/x.properties:key}", "${env:HOST}"),
        ("${dir:/s:password}", "secret"),
        # Neither variables nor of a configured provider.
        ("RULE:^CN=(.*)$/$1/L", "RULE:^CN=(.*)$/$1/L"),
        ("${other:x} ", "${other:x} "),
        ("${env}", "${env}"),
    ],
)
def test_variables_are_replaced_by_their_values_once(value, expected):
    assert replaced({"key": value}) == {"key": expected}


def test_only_variables_of_configured_providers_are_read():
    properties = {
        "a": "${env:X}${dir:/d:f}",
        "config.providers": "env",
        "config.providers.env.class": CONFIGURED["config.providers.env.class"],
        "config.providers.env.param.x": "${env:Y}",
    }
    [variable] = config_variables(properties, read_providers(properties))
    assert (variable.config, variable.path, variable.key) == ("a", "", "X")


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"config.providers": "v"}, "config.providers: config.providers.v.class is not set"),
        (
            {"config.providers": "v", "config.providers.v.class": "x.Vault"},
            "config.providers.v.class: falkirk has no x.Vault, only EnvVarConfigProvider, FileConfigProvider, Dir",
        ),
        (
            {"config.providers.env.param.allowlist.pattern": "("},
            "config.providers.env.param.allowlist.pattern: the pattern ( cannot be read",
        ),
        (
            {"config.providers.env.param.allowlist.pattern": "^KAFKA_", "log.dirs": "${env:HOST}"},
            "log.dirs: allowlist.pattern of env does not allow HOST",
        ),
        (
            {"log.dirs": "${env:/p:HOST}"},
            "log.dirs: Path is not supported for EnvVarConfigProvider, invalid value '/p'",
        ),
        ({"log.dirs": "${file:key}"}, r"log.dirs: ${file:key} names no path"),
    ],
)
def test_what_cannot_be_read_is_named(properties, message):
    with pytest.raises(ConfigError) as refused:
        replaced(properties)
    assert str(refused.value).startswith(message)
