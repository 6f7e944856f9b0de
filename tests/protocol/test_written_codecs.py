"""The codecs that are written out for the compiled build do what those do that are made at run time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from message_strategies import even_message, message_strategy

from falkirk.protocol import codec
from falkirk.protocol.codec.decoder_compiler import FAST_PATH_ERRORS, UNLIMITED
from falkirk.protocol.codec.layout import message_layout
from falkirk.protocol.errors import TooManyElementsError
from written_codecs import module_text, wanted

WANTED = list(wanted())


@pytest.fixture(scope="module")
def written():
    """Have the module."""
    scope = {}
    exec(compile(module_text(), "written_codecs", "exec"), scope)  # noqa: S102 - our own
    return scope


@st.composite
def message_and_version(draw):
    cls, version = draw(st.sampled_from(WANTED))
    return draw(message_strategy(cls, version, None)), version


def decoded(written, cls, version, data, elements_max=UNLIMITED):
    return written["DECODERS"][cls.__name__, version](data, 0, elements_max)


def check(written, message, version):
    cls = type(message)
    data = codec.encode(message, version)
    if cls.SCHEMA.info.kind == "request":
        assert decoded(written, cls, version, data) == (codec.decode(cls, version, data), len(data))
    else:
        assert b"".join(written["ENCODERS"][cls.__name__, version](message)) == data


@given(message_and_version())
def test_messages_are_read_and_written_as_at_run_time(written, case):
    check(written, *case)


@pytest.mark.parametrize(("outer", "inner"), [(0, 0), (1, 1), (8, 0), (8, 1), (8, 2)])
def test_arrays_of_elements_that_are_alike_are_read_and_written_as_at_run_time(written, outer, inner):
    for cls, version in WANTED:
        check(written, even_message(message_layout(cls, version, None), outer, inner), version)


@given(message_and_version(), st.data())
def test_what_does_not_parse_is_left_to_the_reference(written, case, data):
    message, version = case
    cls = type(message)
    whole = codec.encode(message, version)
    if cls.SCHEMA.info.kind != "request":
        return
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    with pytest.raises(FAST_PATH_ERRORS):
        decoded(written, cls, version, cut)


def test_a_request_with_too_many_elements_is_refused(written):
    for cls, version in WANTED:
        layout = message_layout(cls, version, None)
        if cls.SCHEMA.info.kind == "request" and any(field.is_array for field in layout.fields):
            data = codec.encode(even_message(layout, 8, 1), version)
            with pytest.raises(TooManyElementsError):
                decoded(written, cls, version, data, elements_max=4)


def test_a_build_has_the_codecs_that_are_listed_or_none():
    """None where the source runs."""
    module = codec.written_codecs
    named = {(cls.__name__, version) for cls, version in WANTED}
    has_any = not module.__file__.endswith(".py")
    assert {*module.DECODERS, *module.ENCODERS} == (named if has_any else set())
