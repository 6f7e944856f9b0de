from hypothesis import given
from hypothesis import strategies as st
from immutables import Map

from falkirk.metadata.image.keyed_delta import KeyedDelta, NestedDelta

maps = st.dictionaries(st.integers(0, 9), st.integers(0, 3)).map(Map)
steps = st.lists(st.tuples(st.integers(0, 9), st.none() | st.integers(0, 3)))
nested = st.dictionaries(
    st.integers(0, 3), st.dictionaries(st.sampled_from("abc"), st.integers(0, 3), min_size=1).map(Map)
).map(Map)
nested_steps = st.lists(st.tuples(st.integers(0, 3), st.sampled_from("abc!"), st.none() | st.integers(0, 3)))


@given(base=maps, changes=steps)
def test_a_delta_does_what_a_dict_does_and_holds_what_differs(base, changes):
    delta, plain = KeyedDelta(base), dict(base)
    for key, value in changes:
        if value is None:
            delta.remove(key)
            plain.pop(key, None)
        else:
            delta.put(key, value)
            plain[key] = value
        assert delta.get(key) == plain.get(key)

    assert dict(delta.apply()) == plain
    assert delta.changes == KeyedDelta.between(base, Map(plain)).changes
    assert (delta.apply() is base) == (not delta.changes)


@given(base=nested, changes=nested_steps)
def test_a_nested_delta_does_what_dicts_do_and_holds_what_differs(base, changes):
    delta, plain = NestedDelta(base), {key: dict(settings) for key, settings in base.items()}
    for key, name, value in changes:
        if name == "!":
            delta.remove_all(key)
            plain.pop(key, None)
        elif value is None:
            delta.remove(key, name)
            plain.get(key, {}).pop(name, None)
        else:
            delta.put(key, name, value)
            plain.setdefault(key, {})[name] = value
    after = {key: settings for key, settings in plain.items() if settings}

    assert {key: dict(settings) for key, settings in delta.apply().items()} == after
    expected = NestedDelta.between(base, Map({key: Map(settings) for key, settings in after.items()}))
    assert delta.changes == expected.changes
    assert (delta.apply() is base) == (not delta.changes)
