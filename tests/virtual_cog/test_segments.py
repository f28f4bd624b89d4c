"""What has been read of a file is found again, however the parts overlap."""

from __future__ import annotations

import contextlib

from hypothesis import given
from hypothesis import strategies as st

from virtual_cog._segments import Segments

CONTENT = bytes(range(250)) * 20

spans = st.tuples(st.integers(0, 4000), st.integers(1, 900)).map(lambda pair: (pair[0], pair[0] + pair[1]))


def held(segments, start, end):
    found = segments.get(start, end)
    return None if found is None else bytes(found)


@given(st.lists(spans, max_size=12), spans)
def test_what_one_segment_holds_is_found(added, wanted):
    segments = Segments(len(CONTENT))
    for start, end in added:
        segments.add(start, CONTENT[start:end])
    start, end = wanted
    if any(s <= start and end <= e for s, e in added):
        assert held(segments, start, end) == CONTENT[start:end]
    else:
        assert held(segments, start, end) in (None, CONTENT[start:end])


@given(st.lists(st.lists(spans, max_size=6), max_size=4))
def test_what_was_asked_for_is_there(batches):
    """Also where a part of it had been read before, and near ranges are read as one."""
    segments = Segments(len(CONTENT))
    for ranges in batches:
        steps = segments.ensure(ranges)
        with contextlib.suppress(StopIteration):
            steps.send([CONTENT[start:end] for start, end in next(steps)])
        assert all(held(segments, *wanted) == CONTENT[slice(*wanted)] for wanted in ranges)
