"""Filters equal their definitions, count what they cut and treat no reward as a surprise."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import heavybandits as hb
import naive
from heavybandits.authoring import seen_count, truncated_count

REWARDS = st.floats(-1e6, 1e6).map(lambda y: round(y, 9)) | st.sampled_from([0.0, -0.0, 1.0])
SAMPLES = st.lists(REWARDS, min_size=1, max_size=9)
THRESHOLDS = st.floats(1e-3, 1e3)
NORMS = st.floats(1e-3, 1.0)

TWINS = {
    "NoFilter": (lambda n: hb.filters.NoFilter(n), naive.raw),
    "Truncate": (lambda n: hb.filters.Truncate(5.0, n), naive.truncate(5.0)),
    "Clip": (lambda n: hb.filters.Clip(5.0, n), naive.clip(5.0)),
    "Median": (lambda n: hb.filters.Median(n), naive.median),
    "MeanOfMedians": (lambda n: hb.filters.MeanOfMedians(n, min(n, 3)), naive.mean_of_medians(3)),
    "MedianOfMeans": (lambda n: hb.filters.MedianOfMeans(n, min(n, 4)), naive.median_of_means(4)),
    "TrimmedMean": (lambda n: hb.filters.TrimmedMean(n, 0.2), naive.trimmed_mean(0.2)),
}


def filtered(part, rewards, norm=1.0):
    return part.apply(part.init(), np.array(rewards, float), norm, 0.0)


@pytest.mark.parametrize("name", TWINS)
@given(rewards=SAMPLES, norm=NORMS)
def test_filters_equal_their_definitions(name, rewards, norm):
    make, twin = TWINS[name]
    scale = max(map(abs, rewards))
    expected = twin(np.array(rewards), norm)
    assert filtered(make(len(rewards)), rewards, norm) == pytest.approx(
        expected, rel=1e-12, abs=1e-14 * scale
    )


@pytest.mark.parametrize("name", [name for name in TWINS if name not in ("Truncate", "Clip")])
@given(rewards=SAMPLES, factor=st.sampled_from([2.0, 8.0, -4.0]))
def test_location_filters_scale_with_the_rewards(name, rewards, factor):
    """Powers of two scale without rounding, so the law holds to the bit; -1 mirrors."""
    part = TWINS[name][0](len(rewards))
    expected = factor * filtered(part, rewards)
    if factor < 0:  # mirroring reverses the order of the sorted sample, and so of a sum
        expected = pytest.approx(expected, rel=1e-12, abs=1e-9)
    assert filtered(part, [factor * y for y in rewards]) == expected


@pytest.mark.parametrize("kind", [hb.filters.Truncate, hb.filters.Clip])
@given(rewards=SAMPLES, threshold=THRESHOLDS, norm=NORMS)
def test_threshold_filters_scale_with_threshold_and_rewards_together(
    kind, rewards, threshold, norm
):
    n = len(rewards)
    plain = filtered(kind(threshold, n), rewards, norm)
    assert filtered(kind(4.0 * threshold, n), [4.0 * y for y in rewards], norm) == 4.0 * plain
    assert filtered(kind(4.0 * threshold, n), rewards, 4.0 * norm) == plain


@given(rewards=st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=20), data=st.data())
def test_median_and_trimmed_mean_do_not_see_the_order(rewards, data):
    mixed = data.draw(st.permutations(rewards))
    n = len(rewards)
    assert (
        filtered(hb.filters.Median(n), rewards)
        == filtered(hb.filters.Median(n), mixed)
        == np.median(rewards)
    )
    trimmed = [filtered(hb.filters.TrimmedMean(n, 0.25), sample) for sample in (rewards, mixed)]
    assert trimmed[0] == pytest.approx(trimmed[1], rel=1e-9, abs=1e-12 * max(map(abs, rewards)))


@given(rewards=SAMPLES, threshold=THRESHOLDS, norm=NORMS)
def test_cut_rewards_are_counted(rewards, threshold, norm):
    for part in (
        hb.filters.Truncate(threshold, len(rewards)),
        hb.filters.Clip(threshold, len(rewards)),
    ):
        memory = part.init()
        part.apply(memory, np.array(rewards), norm, 0.0)
        assert seen_count(memory) == len(rewards)
        assert truncated_count(memory) == sum(norm * abs(y) > threshold for y in rewards)


def test_truncation_keeps_the_threshold_itself():
    assert filtered(hb.filters.Truncate(2.0), [2.0]) == 2.0
    assert filtered(hb.filters.Truncate(2.0), [math.nextafter(2.0, 3.0)]) == 0.0
    assert filtered(hb.filters.Clip(2.0), [math.nextafter(2.0, 3.0)]) == 2.0
    assert filtered(hb.filters.Clip(2.0), [-1e308]) == -2.0


def test_a_filter_of_a_single_group_takes_all_of_the_sample():
    rewards = [1.0, 5.0, 9.0, 2.0]
    assert filtered(hb.filters.MeanOfMedians(4, 4), rewards) == np.median(rewards)
    assert filtered(hb.filters.MedianOfMeans(4, 4), rewards) == np.median(rewards)
    assert filtered(hb.filters.TrimmedMean(4, 0.49), rewards) == np.median(rewards)


@pytest.mark.parametrize("name", TWINS)
def test_equal_rewards_are_left_alone(name):
    for value in (0.0, 0.5, -1.5):
        assert filtered(TWINS[name][0](3), [value] * 3) == pytest.approx(value)


FRACTION: Any = 2.5  # of the wrong type, as a caller without a type checker may have it


@pytest.mark.parametrize(
    ("part", "field"),
    [
        (hb.filters.Truncate(0.0), "threshold"),
        (hb.filters.Truncate(-1.0), "threshold"),
        (hb.filters.Truncate(math.nan), "threshold"),
        (hb.filters.Clip(0.0), "threshold"),
        (hb.filters.NoFilter(0), "plays"),
        (hb.filters.Median(0), "plays"),
        (hb.filters.Median(FRACTION), "plays"),
        (hb.filters.MeanOfMedians(5, 0), "group"),
        (hb.filters.MeanOfMedians(5, 6), "group"),
        (hb.filters.MedianOfMeans(5, 0), "blocks"),
        (hb.filters.MedianOfMeans(5, 6), "blocks"),
        (hb.filters.TrimmedMean(5, -0.1), "trim"),
        (hb.filters.TrimmedMean(5, 0.5), "trim"),
    ],
    ids=repr,
)
def test_impossible_filters_are_refused_at_the_door(part, field):
    with pytest.raises(hb.InvalidInputError, match=rf"{type(part).__name__}\.{field} must"):
        hb.linucb(dim=2, radius=1.0, filter=part)


def test_what_is_no_filter_is_refused():
    parts: list[Any] = [None, "raw", hb.links.Logistic()]
    for part in parts:
        with pytest.raises(hb.InvalidInputError, match="filter"):
            hb.linucb(dim=2, radius=1.0, filter=part)
