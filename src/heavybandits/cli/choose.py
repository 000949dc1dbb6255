"""The command `choose`: from five questions to one policy."""

import sys
import textwrap
from typing import Any

import click

from ..offline.diagnose.choosing import QUESTIONS, Question, Recommendation, choose
from .options import print_json


def question_options(command: Any) -> Any:
    """Each question as an option."""
    for name, question in reversed(QUESTIONS.items()):
        kinds = click.Choice(list(question.answers))
        command = click.option(f"--{name}", type=kinds, help=question.text)(command)
    return command


@click.command("choose", short_help="From five questions to one policy.")
@question_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def choose_command(as_json: bool, **given: str | None) -> None:
    """Which policy should be used? Asks what is not answered by an option.

    \b
    heavybandits choose
    heavybandits choose --known nothing --tails heavy --arms changing \\
                        --noise skewed --data live
    """
    answers = complete(given)
    found = choose(answers)
    if not as_json:
        click.echo(write_text(found))
        return
    rule = {key: value for key, value in found.rule._asdict().items() if key != "when"}
    print_json({"answers": answers, **rule, "page": found.page, "notes": found.notes})


def complete(given: dict[str, str | None]) -> dict[str, str]:
    """All answers: those that were options, and the others asked for where somebody can answer."""
    missing = [name for name in QUESTIONS if given[name] is None]
    if missing and not on_terminal():
        needed = "; ".join(f"--{name} {'|'.join(QUESTIONS[name].answers)}" for name in missing)
        raise click.UsageError(f"there is no terminal to ask on, so these are needed: {needed}")
    return {name: given[name] or ask(question) for name, question in QUESTIONS.items()}


def on_terminal() -> bool:
    return sys.stdin.isatty()


def ask(question: Question) -> str:
    """One answer; what is asked goes to stderr, so that stdout holds the recommendation alone."""
    click.echo(f"\n{question.text}", err=True)
    for answer, meaning in question.answers.items():
        click.echo(f"  {answer:<14} {meaning}", err=True)
    kinds = click.Choice(list(question.answers))
    return str(click.prompt("Answer", type=kinds, show_choices=False, err=True))


def write_text(found: Recommendation) -> str:
    """The recommendation as a few lines."""
    rule = found.rule
    return "\n".join(
        (
            f"Use {rule.name}, with numbers of your own:",
            f"  {rule.call}",
            wrap("Why", rule.why),
            wrap("Read", f"docs/{found.page}"),
            wrap("Evidence", f"`{rule.evidence}`: {rule.found}."),
            *(wrap("Mind", note) for note in found.notes),
        )
    )


def wrap(title: str, text: str) -> str:
    """A paragraph with a title that hangs out on its left.

    >>> wrap("Read", "docs/peers.md")
    'Read      docs/peers.md'
    """
    return textwrap.fill(text, 90, initial_indent=f"{title:<10}", subsequent_indent=" " * 10)
