"""The commands `ledger check`, `repair`, `export`, `backup` and `migrate`."""

import datetime as dt
from pathlib import Path

import click

from .._utils.errors import InvalidInputError, printable
from ..ledger import repair as salvage
from ..ledger.address import is_address
from ..ledger.archive import compact as make_archive
from ..ledger.backup import backup as make_backup
from ..ledger.postgres_tables import migrate_database
from ..ledger.repair import Findings
from .options import JSON, print_json

FILE = click.argument("file")  # or an address
OUTPUT = click.argument("output", type=click.Path(path_type=Path))


@click.group(short_help="Check, copy, repair and export the ledgers of agents.")
def ledger() -> None:
    """Report what is intact in a ledger, copy it, save it, or turn it into a table.

    The ledger itself is only read; close its agent first, except for a backup. A ledger on a server
    is named by its address, and its agent may work meanwhile. Exit codes: 0 the ledger is intact, 1
    it is not, or the command failed, 2 the command was not understood.

    \b
    heavybandits ledger check agent.db
    heavybandits ledger check "postgresql://shop@db.example/bandits?agent=shop"
    heavybandits ledger repair agent.db saved.db
    heavybandits ledger export agent.db events.parquet
    heavybandits ledger backup agent.db copy.db
    heavybandits ledger compact agent.db archive
    """


@ledger.command(short_help="Report what is intact.")
@FILE
@JSON
def check(file: str, as_json: bool) -> None:
    """Check FILE: its pages, its chain of hashes, its log and the head next to it.

    \b
    heavybandits ledger check agent.db
    """
    found = salvage.examine(file)
    print_json(found._asdict() | {"intact": found.intact}) if as_json else click.echo(_page(found))
    _exit(found)


@ledger.command(short_help="Save the longest intact prefix into a new ledger.")
@FILE
@OUTPUT
def repair(file: str, output: Path) -> None:
    """Save what is intact in FILE into OUTPUT, a new ledger of the same policy.

    That is every event as far as the chain of hashes is valid. FILE is only read.
    What is wrong with FILE is printed, and the code is 0 if OUTPUT was written.

    \b
    heavybandits ledger repair agent.db saved.db
    """
    before, after = salvage.repair(file, output)
    _report_problems(before)
    click.echo(_page(after))


@ledger.command(short_help="Write the events to Parquet or CSV.")
@FILE
@OUTPUT
def export(file: str, output: Path) -> None:
    """Write the events of FILE to OUTPUT, one row each: CSV if it ends in .csv, else Parquet.

    Of a damaged ledger it writes the longest intact prefix, reports that, and exits with code 1.

    \b
    heavybandits ledger export agent.db events.parquet
    heavybandits ledger export agent.db events.csv
    """
    found = salvage.export(file, output)
    click.echo(printable(f"wrote {found.events} events to {output}"), err=True)
    _report_problems(found)
    _exit(found)


@ledger.command(short_help="Copy a ledger while its agent works on it.")
@FILE
@OUTPUT
def backup(file: str, output: Path) -> None:
    """Copy FILE to OUTPUT, a new ledger, also while an agent works on FILE.

    OUTPUT has every event that was acknowledged when the command began, and is checked. An agent
    that opens OUTPUT rejects tickets that were issued after the backup.

    \b
    heavybandits ledger backup live.db copy.db
    """
    made = make_backup(file, output)
    click.echo(printable(f"copied {made.events} events to {made.path}"), err=True)


@ledger.command(short_help="Create or update the tables on a PostgreSQL server.")
@click.argument("address")
def migrate(address: str) -> None:
    """Create the tables of ledgers in the database at ADDRESS, or bring them up to date.

    Run it as a user who may create a schema, before the first agent opens a ledger there and after
    each update of heavybandits. Running it again changes nothing.

    \b
    heavybandits ledger migrate postgresql://owner@db.example/bandits
    """
    if not is_address(address):
        raise InvalidInputError("ADDRESS must begin with postgresql://")
    done = migrate_database(address)
    numbers = ", ".join(map(str, done))
    click.echo(f"applied migrations {numbers}" if done else "the tables are up to date")


@ledger.command(short_help="Move old events to Parquet files.")
@FILE
@click.argument("archive", type=click.Path(path_type=Path))
@click.option("--before", metavar="MOMENT", help="An event, a mark or a date, such as 2026-10-01.")
def compact(file: Path, archive: Path, before: str | None) -> None:
    """Move old events of FILE to Parquet files in the folder ARCHIVE, and shrink FILE.

    Events from the oldest waiting ticket on stay. An agent continues as before; a rebuild reads the
    files. Needs the extra `lab`.

    \b
    heavybandits ledger compact agent.db archive --before 2026-10-01
    """
    moved = make_archive(file, archive, None if before is None else _read_moment(before))
    click.echo(printable(f"moved {moved.events} events to {len(moved.files)} files"), err=True)


def _read_moment(text: str) -> int | dt.datetime | str:
    """Return the number of an event, a date in UTC, or the name of a mark."""
    if text.isdecimal():
        return int(text)
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        return text
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=dt.UTC)


def _report_problems(found: Findings) -> None:
    for why in found.problems:
        click.echo(printable(f"{found.path} is damaged: {why}"), err=True)


def _exit(found: Findings) -> None:
    if not found.intact:
        raise click.exceptions.Exit(1)


def _page(found: Findings) -> str:
    """Return the findings as text."""
    kinds = ", ".join(f"{count} {kind}" for kind, count in found.kinds.items())
    head = "none that is intact" if found.head_events is None else f"{found.head_events} events"
    lines = {
        "format": f"{found.format}, created by heavybandits {found.version}",
        "good events": f"{found.events} ({kinds})" if found.events else "none",
        "last at": "never" if found.last_time is None else f"{found.last_time:.3f}",
        "snapshots": ", ".join(f"after event {event}" for event in found.snapshots) or "none",
        "log (-wal)": "none" if found.wal_bytes is None else f"{found.wal_bytes} bytes",
        "head (-head)": head,
    }
    text = [f"{found.path}: {'intact' if found.intact else 'DAMAGED'}"]
    text += [f"  {name:<13} {value}" for name, value in lines.items()]
    text += [f"  {'problem':<13} {why}" for why in found.problems]
    return "\n".join(map(printable, text))
