"""Hints at categories that are rather numbers or dates, or that cover few of the rows."""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from itertools import islice
from typing import NamedTuple

from .._utils.errors import EncodingError
from .columns import OTHER, Category
from .values import ColumnValues, looks_like_a_date, number_key

COVERED = 0.5  # share of the rows that must have a category of their own
ALIKE = 0.9  # share of the values that must look alike for a hint
SAMPLE = 2000  # different values that are examined
DAYS = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d")
COMMA_NUMBER = re.compile(r"[+-]?\d+,\d+", re.ASCII)
FLOAT_ID = re.compile(r"-?\d\.\d{6,}[eE]\+?(1[5-9]|[2-9]\d)")
TIMES = ("", " %H:%M", " %H:%M:%S", "T%H:%M:%S")
DATES = [day + time for time in TIMES for day in DAYS]


class Likeness(NamedTuple):
    """Rows whose values do not look like the others, and the words that say so."""

    rows: int
    odd: str


class CategoryCounts(NamedTuple):
    """Different values of a column, and the share of the rows that have no category of their own.

    `texts` has the texts as written with the number of their rows.
    """

    distinct: int
    other_share: float
    texts: Mapping[str, int]


def count_texts(column: Category, values: ColumnValues) -> Counter[str]:
    """Count the rows of each text, text as written; an error names the row."""
    texts = Counter[str]()
    for row, value in enumerate(values):
        try:
            texts[value if type(value) is str else column.text(value)] += 1
        except EncodingError as error:
            raise error.at(f"in row {row} of those with a value") from None
    return texts


def count_categories(column: Category, values: ColumnValues) -> CategoryCounts:
    """Count what the categories of a column cover.

    >>> count_categories(Category("city", ["Oslo"]), ["Oslo", "Rome", "Oslo", "Kiel"])[:2]
    (3, 0.5)
    """
    texts = count_texts(column, values)
    places = {text: column.place(text) for text in texts}
    other = sum(texts[t] for t, place in places.items() if place == len(column.categories))
    distinct = len({column.text(text) for text in texts})
    return CategoryCounts(distinct, other / max(texts.total(), 1), texts)


def find_hint(column: Category, counts: CategoryCounts, *, looks: bool) -> str:
    """Return a warning about a category, or "" if there is none.

    `looks` compares the values with numbers and dates too.

    >>> many = ["1,5", "2,25", "3,75"]
    >>> city = Category("price", many)
    >>> print(find_hint(city, count_categories(city, many), looks=True))
    column 'price' is read as a category with 3 different values, 0.0% of the rows in "(other)". Its
    values look like numbers with a decimal comma, such as '1,5': pass decimal={'price': ','}, or
    column_types={'price': 'category'} to keep it
    """
    hint = _find_likeness(column, counts) if looks else ""
    keep = f", or column_types={{{column.name!r}: 'category'}} to keep it" if hint else ""
    if not hint and counts.other_share > COVERED:
        hint = "Raise max_categories, or leave the column out"
    if not hint:
        return ""
    return (
        f"column {column.name!r} is read as a category with {counts.distinct} different values, "
        f'{counts.other_share:.1%} of the rows in "{OTHER}". {hint}{keep}'
    )


def _find_likeness(column: Category, counts: CategoryCounts) -> str:
    """Return what most values look like and what to do, or "" if they look like nothing."""
    texts = dict(islice(counts.texts.items(), SAMPLE))
    name, example = column.name, repr(next(iter(texts), ""))[:40]

    def compare(is_alike: Callable[[str], object]) -> Likeness | None:
        """Return how many values are not alike, or None if too many are not."""
        different = [text for text in texts if not is_alike(text.strip())]
        rows = sum(texts[text] for text in different)
        if len(texts) < 2 or rows > (1.0 - ALIKE) * sum(texts.values()):
            return None
        return Likeness(rows, f" (except {rows}, such as {different[0]!r:.40})" if rows else "")

    if found := compare(COMMA_NUMBER.fullmatch):
        return (
            f"Its values look like numbers with a decimal comma, such as {example}{found.odd}: "
            f"pass decimal={{{name!r}: ','}}"
        )
    if found := compare(looks_like_a_date):
        return (
            f"Its values look like ISO dates{found.odd}: correct these values, pass "
            f"date_formats={{{name!r}: [...]}} with their formats"
        )
    forms = {form: compare(partial(_is_date, form)) for form in DATES}
    if dates := {form: found for form, found in forms.items() if found}:
        best = min(dates.values())
        shown = " or ".join(form for form, found in dates.items() if found == best)
        return (
            f"Its values look like dates of the format {shown}, such as {example}{best.odd}: pass "
            f"date_formats={{{name!r}: {shown.partition(' or ')[0]!r}}}"
        )
    if found := compare(FLOAT_ID.fullmatch):
        return (
            f"Its values look like integers that were written as floats, such as {example}"
            f"{found.odd}: write them as integers (Int64 in pandas)"
        )
    found = compare(number_key)
    if found and found.rows and counts.other_share > 0.0:
        return f"Its values look like numbers{found.odd}: correct these values"
    return ""


def _is_date(form: str, text: str) -> bool:
    try:
        datetime.strptime(text, form)
    except ValueError:
        return False
    return True
