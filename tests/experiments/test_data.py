"""Real data sets: read from the packages that carry them, or skipped with the reason shown."""

import numpy as np
import pytest

from heavybandits.experiments.data import LOADERS, DataError, load_data
from heavybandits.experiments.data.sets import Source
from heavybandits.offline.diagnose.diagnosis import diagnose
from heavybandits.offline.log import Log
from heavybandits.offline.replay.protocols import holdout_gains
from heavybandits.offline.replay.replay import make_rounds


def load_or_skip(name: str):
    try:
        return load_data(name)
    except (DataError, ModuleNotFoundError) as error:
        pytest.skip(str(error))


# name: rows, features, tail index about
KNOWN = {
    "rand": (20_186, 17, 1.6),
    "cdnow": (23_570, 8, 2.0),
    "nyse_n": (6180 * 23, 9, 3.0),
    "nyse_o": (5400 * 36, 9, 3.2),
    "sp500": (8062 * 20, 9, 3.0),
}


@pytest.mark.parametrize("name", LOADERS)
def test_each_set_has_the_rows_features_and_tail_it_is_known_for(name: str) -> None:
    data = load_or_skip(name)
    rows, features, index = KNOWN[name]
    assert len(data.frame[data.reward]) == rows
    assert len(data.features) == features
    for column in [*data.features, data.reward]:
        assert np.isfinite(data.frame[column]).all()
    found = diagnose(data.frame, features=data.features, reward=data.reward, resamples=20)
    assert found.heavy
    assert found.tail_index.value == pytest.approx(index, abs=0.4)


def test_rand_leaves_one_column_out() -> None:
    data = load_or_skip("rand")
    assert "black" not in data.frame
    assert np.array_equal(data.frame["xage^2"], data.frame["xage"] ** 2)


def test_cdnow_by_hand() -> None:
    """Customer 3: six purchases, of which three before October 1997 and three after."""
    data = load_or_skip("cdnow")
    third = {name: float(column[2]) for name, column in data.frame.items()}
    assert third["log_frequency"] == pytest.approx(np.log1p(3))
    assert third["log_total"] == pytest.approx(np.log1p(20.76 + 20.76 + 19.54))
    assert third["last_spend"] == pytest.approx(19.54)
    assert third["max_spend"] == pytest.approx(20.76)
    assert third["recency"] == 182.0  # from 2 April
    assert third["spend"] == pytest.approx(57.45 + 20.96 + 16.99)


def test_scores_are_ranks_within_a_day_and_look_only_back() -> None:
    data = load_or_skip("nyse_n")
    day = data.frame["day"] == data.frame["day"][0]
    assert sorted(data.frame["past_5"][day]) == pytest.approx(np.linspace(-1.0, 1.0, 23))
    returns = data.frame["return"].reshape(-1, 23)
    past = data.frame["past_1"].reshape(-1, 23)
    best = returns[:-1] == returns[:-1].max(axis=1, keepdims=True)  # equal returns share the top
    assert np.all(np.where(best, past[1:], -1.0).max(axis=1) == 1.0)
    assert set(data.frame["group"]) == set(range(25))


def test_the_negative_control_has_far_less_to_learn_than_the_others() -> None:
    strength = {}
    for name in ("nyse_n", "sp500"):
        data = load_or_skip(name)
        log = Log(data.frame, features=data.features, reward=data.reward)
        rounds = make_rounds(log, protocol="rounds", group="day")
        gains = holdout_gains(rounds, rounds.deal(0))
        strength[name] = gains.mean() / (gains.std() / np.sqrt(gains.size))
    assert strength["nyse_n"] > 3.0
    assert strength["sp500"] < 2.0


def test_a_missing_package_says_how_to_get_it() -> None:
    source = Source("no-such-package-here", "1.0", "a.csv", "0" * 64)
    with pytest.raises(DataError, match=r'pip install "heavybandits\[data\]"'):
        source.read()


def test_a_changed_file_is_refused() -> None:
    with pytest.raises(DataError, match="must have SHA-256 000000000000"):
        Source("numpy", "any", "numpy/__init__.py", "0" * 64).read()
    with pytest.raises(DataError, match=r"must contain nothing\.csv"):
        Source("numpy", "any", "nothing.csv", "0" * 64).read()
