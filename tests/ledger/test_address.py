"""Addresses of ledgers: what is accepted, and that nothing shows a password."""

import sys

import pytest

import heavybandits as hb
from heavybandits import InvalidInputError
from heavybandits.ledger.address import Address, is_address, locate, parse_address

pytest.importorskip("psycopg")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://u:p%40w@h/db?agent=a", "postgresql://u@h/db?agent=a"),
        ("postgres://h:1/db?agent=a.b-c_1", "postgresql://h:1/db?agent=a.b-c_1"),
        ("postgresql:///db?agent=a&password=pw", "postgresql:///db?agent=a"),
        (
            "postgresql://u@h1:1,h2:2/db?agent=a&sslmode=require",
            "postgresql://u@h1:1,h2:2/db?agent=a",
        ),
        ("postgresql://u@[::1]:5/db?agent=a", "postgresql://u@::1:5/db?agent=a"),
        ("postgresql:///db?host=/run/pg&agent=a", "postgresql://%2Frun%2Fpg/db?agent=a"),
    ],
)
def test_what_is_shown_has_no_password(text: str, shown: str) -> None:
    made = parse_address(text)
    assert str(made) == shown
    assert "pw" not in repr(made)


def test_everything_else_reaches_libpq() -> None:
    made = parse_address("postgresql://u:p%40w@h/db?agent=a&sslmode=require&application_name=x")
    assert dict(made.parameters) == {
        "user": "u",
        "password": "p@w",
        "host": "h",
        "dbname": "db",
        "sslmode": "require",
        "application_name": "x",
    }


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://u:secret@h/db",
        "postgresql://u:secret@h/db?agent=a&agent=b",
        "postgresql://u:secret@h/db?agent=",
        "postgresql://u:secret@h/db?agent=a%20b",
        "postgresql://u:secret%zz@h/db?agent=a",
        "postgresql://u:secret@h/db?agent=a&colour=red",
        "postgresql://u:secret@[h/db?agent=a",
        "mysql://u:secret@h/db?agent=a",
    ],
)
def test_wrong_addresses_are_rejected_without_being_quoted(text: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        hb.Agent(hb.linucb(dim=2, radius=1.0), ledger=text)
    assert "secret" not in str(caught.value)


def test_a_file_is_not_an_address() -> None:
    assert not is_address("shop.db")
    assert locate("shop.db").name == "shop.db"  # type: ignore[union-attr]
    assert isinstance(locate("postgresql:///db?agent=a"), Address)


def test_without_the_driver_the_error_has_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "heavybandits\[postgres\]"'):
        hb.Agent(hb.linucb(dim=2, radius=1.0), ledger="postgresql:///db?agent=a")
