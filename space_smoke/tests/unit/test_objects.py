"""References and JSON Patch pieces."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from space_smoke.model import objects
from space_smoke.tests.sim import patching

_notes = st.dictionaries(st.text("ab/~.", min_size=1, max_size=5), st.text("xyz", max_size=3), max_size=4)
_changes = st.dictionaries(st.text("ab/~.", min_size=1, max_size=5), st.none() | st.text("xyz", max_size=3), max_size=4)


@settings(max_examples=200, derandomize=True, deadline=None)
@given(st.none() | _notes, _changes)
def test_metadata_changes_hit_exactly_the_keys_they_name(
    before: dict[str, str] | None, changes: dict[str, Any]
) -> None:
    thing = {"metadata": {} if before is None else {"annotations": before}}
    after = patching.apply(thing, objects.put_metadata(thing, "annotations", changes))
    wanted = {key: value for key, value in ((before or {}) | changes).items() if value is not None}
    assert (after["metadata"].get("annotations") or {}) == wanted


def test_a_map_that_became_empty_is_made_anew_because_the_api_server_does_not_store_it() -> None:
    thing: dict[str, Any] = {"metadata": {"annotations": {}}}
    assert objects.put_metadata(thing, "annotations", {"a": "1"}) == [
        objects.put({"a": "1"}, "metadata", "annotations")
    ]


def test_slashes_and_tildes_in_keys_are_escaped() -> None:
    assert objects.pointer("metadata", "annotations", "a/b~c", 0) == "/metadata/annotations/a~1b~0c/0"


def test_annotation_bytes_are_counted_as_utf8_of_keys_and_values() -> None:
    assert objects.size_of({"é": "€", "a": ""}) == 2 + 3 + 1


def test_a_name_without_uid_is_whoever_bears_it_now() -> None:
    ref = objects.Ref("apps/v1", "Deployment", "space", "a", "uid-1")
    assert objects.Ref(*ref.where()) == objects.Ref("apps/v1", "Deployment", "space", "a")


def test_digging_ends_with_none_where_the_way_ends() -> None:
    assert objects.dig({"a": {"b": [1]}}, "a", "b") == [1]
    assert objects.dig({"a": {"b": [1]}}, "a", "b", "c") is None
