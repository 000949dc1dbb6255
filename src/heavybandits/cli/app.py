"""The group of commands."""

from typing import Any

import click
from click.shell_completion import get_completion_class

from .. import __version__
from ..support.errors import InvalidInput, SweepError
from .bounds import bounds
from .data import register
from .reproduce import report, reproduce
from .simulate import simulate, tune


class Group(click.Group):
    """Commands in the order they are given, and our refusals as usage errors."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except InvalidInput as error:
            raise click.UsageError(str(error)) from error
        except (SweepError, ModuleNotFoundError) as error:
            raise click.ClickException(str(error)) from error


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="heavybandits", message="%(prog)s %(version)s")
def cli() -> None:
    """Contextual bandits whose rewards have heavy tails.

    \b
    heavybandits reproduce --quick          the paper, in about two minutes
    heavybandits simulate CRTM OL2M         two algorithms on one problem
    heavybandits bounds --horizon 1000000   what the theorems promise
    """


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of a shell.

    \b
    heavybandits completion bash >> ~/.bashrc
    heavybandits completion fish > ~/.config/fish/completions/heavybandits.fish
    """
    made = get_completion_class(shell)
    if made is None:  # pragma: no cover - click knows these three
        raise click.ClickException(f"click has no completion for {shell}")
    click.echo(made(cli, {}, "heavybandits", "_HEAVYBANDITS_COMPLETE").source())


for command in (reproduce, report, simulate, tune, bounds):
    cli.add_command(command)


register(cli)
cli.add_command(completion)
