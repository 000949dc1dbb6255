"""The group of commands."""

from typing import Any

import click

from .. import __version__
from .._utils import errors
from .bounds import bounds
from .compile import compile_command
from .diagnose import diagnose_command
from .encode import encode_group
from .evaluate import evaluate_command
from .ledger import ledger
from .replay import replay_command
from .report import report
from .reproduce import reproduce
from .serve import serve
from .simulate import simulate
from .tune import tune
from .uplift import uplift_command

OWN_FAILURES = (errors.PartError, errors.SweepError, errors.LedgerError, errors.DeviceError)
FAILURES = (*OWN_FAILURES, ModuleNotFoundError, NotImplementedError, OSError)


class Group(click.Group):
    """Commands in the given order; an error is printed as one sentence."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (errors.InvalidInputError, errors.DataError) as error:
            raise click.UsageError(str(error)) from error
        except MemoryError as error:
            raise click.ClickException(
                "not enough memory: use fewer arms, a smaller dimension or a shorter horizon"
            ) from error
        except ArithmeticError as error:
            raise click.ClickException(
                f"these numbers are too large or too small to compute with ({error.args[-1]})"
            ) from error
        except BrokenPipeError:  # the reader of our output has closed it: click handles that
            raise
        except FAILURES as error:
            raise click.ClickException(str(error)) from error


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="heavybandits", message="%(prog)s %(version)s")
def cli() -> None:
    """Simulate, tune, evaluate and run contextual bandits for heavy-tailed rewards.

    \b
    heavybandits reproduce --quick                       the paper's experiments, in two minutes
    heavybandits simulate CRTM OL2M                      two algorithms on one problem
    heavybandits tune CRTM OL2M                          the best radius scale of each
    heavybandits bounds --horizon 1000000                the bounds of the theorems
    heavybandits diagnose orders.csv --reward revenue    tails of a file, and the policy to use
    """


LABORATORY = (reproduce, report, simulate, tune, bounds)
PRODUCTION = (
    *(encode_group, diagnose_command, replay_command),
    *(evaluate_command, uplift_command, ledger, serve),
)
for command in (*LABORATORY, *PRODUCTION, compile_command):
    cli.add_command(command)
