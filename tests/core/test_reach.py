"""What a function can reach: the helpers, the values, and the text of those without a file."""

import functools
import re
import sys
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from heavybandits.core.reach import reach


def made(text: str, name: str = "reach_typed", **names: Any) -> Any:
    """The function `f` of a text, as a notebook makes it."""
    space: dict[str, Any] = {"__name__": name, "functools": functools, "np": np, **names}
    exec(text, space)
    return space["f"]


def one() -> int:
    return 1


@dataclass(frozen=True)
class Box:
    call: Any


CASES = {
    "code": "def f(): return {}",
    "global": "C = {}\ndef f(): return C",
    "helper": "def g(): return {}\ndef f(): return g()",
    "closure": "def make(c):\n    def f(): return c\n    return f\nf = make({})",
    "default": "def f(c={}): return c",
    "keyword": "def f(*, c={}): return c",
    "partial": "def g(c): return c\nh = functools.partial(g, {})\ndef f(): return h()",
    "decorated": "@functools.cache\ndef f(): return {}",
    "class": "class A:\n    @property\n    def c(self): return {}\ndef f(): return A().c",
    "list": "C = [dict(c=({},))]\ndef f(): return C",
    "array": "C = np.array([{}.0])\ndef f(): return C",
    "attribute": "def f(): return f.c\nf.c = {}",
    "masked array": "C = np.ma.array([1.0, 2.0], mask=[{} == 1, 0])\ndef f(): return C",
    "library object": "C = np.polynomial.Polynomial([{}])\ndef f(): return C",
    "iterator": "C = map(abs, [{}])\ndef f(): return C",
    "vectorised": "def g(x): return x + {}\ng = np.vectorize(g)\ndef f(): return g(1)",
    "number": "class N(float): pass\nC = N({})\ndef f(): return C",
    "own list": "class L(list): pass\nC = L()\nC.c = {}\ndef f(): return C",
    "own dict": "class D(dict): pass\nC = D()\nC.c = {}\ndef f(): return C",
}


@pytest.mark.parametrize("case", CASES)
def test_another_helper_or_value_is_another_hash(case: str):
    text = CASES[case]
    assert reach([made(text.format(1))]) == reach([made(text.format(1))])
    assert reach([made(text.format(1))]).values != reach([made(text.format(2))]).values


def test_a_table_counts_by_its_values_and_not_by_how_it_was_used():
    pandas = pytest.importorskip("pandas")

    def table(day: str) -> Any:
        return pandas.DataFrame({"day": pandas.to_datetime([day]), "paid": [1.0]})

    def found(value: Any) -> str:
        return reach([made("def f(): return C", C=value)]).values

    used = table("2026-01-01")
    assert used.loc[0].size == 2
    assert found(used) == found(table("2026-01-01")) != found(table("2026-01-02"))


def test_the_order_of_a_dict_counts():
    text = "def f(): return list(C)"
    first, second = {"a": 1, "b": 2}, {"b": 2, "a": 1}
    assert reach([made(text, C=first)]).values != reach([made(text, C=second)]).values


def test_the_reach_of_a_try_counts():
    text = "def f():\n  try:\n    a()\n{}  except ValueError:\n    pass\n{}  return 1"
    inside, after = text.format("    b()\n", ""), text.format("", "  else:\n    b()\n")
    assert reach([made(inside)]).values != reach([made(after)]).values


def test_a_long_pattern_counts_to_its_end():
    text = "def f(): return C"
    patterns = [re.compile("a" * 300 + end) for end in "bc"]
    assert len({reach([made(text, C=pattern)]).values for pattern in patterns}) == 2


def test_what_cannot_be_compared_is_not_reused():
    chain: list[Any] = []
    for _ in range(5000):
        chain = [chain]
    assert "nested too deeply" in str(reach([made("def f(): return C", C=chain)]).opaque)


def test_what_the_code_does_not_mention_does_not_count():
    text = "def f(): return C"
    assert reach([made(text, C=1, D=1)]) == reach([made(text, C=1, D=2)])


def test_helpers_that_another_module_put_there_name_their_module():
    module = ModuleType("reach_planted")
    module.__file__ = __file__  # of the user's
    sys.modules[module.__name__] = module
    try:
        for value in (one, Box(one), {"g": [one]}, functools.partial(one)):
            module.g = value  # type: ignore[attr-defined]
            found = reach([made("import reach_planted\ndef f(): return reach_planted.g")])
            assert found.modules >= {"reach_planted", __name__}
    finally:
        del sys.modules[module.__name__]


def test_compiled_code_cannot_read_what_changes():
    text = "CACHE = {{1: {}}}\ndef f(): return CACHE"
    first, second = (reach([made(text.format(c))], mutable=False) for c in (1, 2))
    assert first == second
    assert reach([made(text.format(1))]) != reach([made(text.format(2))])


@pytest.mark.parametrize(
    ("text", "noticed"),
    [("def f(): return eval('x' + y)", True), ("def f(m): return m.eval()", False)],
)
def test_code_that_runs_a_text_is_named(text: str, noticed: bool):
    assert (reach([made(text)]).opaque is not None) == noticed


def test_circles_end():
    text = (
        "A = []\nA.append(A)\nclass K:\n    pass\nK.me = K()\nK.me.k = K\ndef f(): return A, K, f"
    )
    assert reach([made(text)]) == reach([made(text)])


def test_a_variable_of_the_name_of_an_attribute_is_not_reached():
    """An agent with a part of a field `ridge` failed after `ridge = ...` in a notebook."""
    names: dict[str, object] = {"__name__": "notebook", "ridge": 1.0, "level": 2.0}
    exec("def learn(self):\n    return self.ridge * level", names)
    before = reach([names["learn"]])
    names["ridge"] = 3.0
    assert reach([names["learn"]]) == before
    names["level"] = 3.0
    assert reach([names["learn"]]) != before
