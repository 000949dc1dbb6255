"""The command `heavybandits`, one module per command.

Tables on stdout, progress on stderr, --json for machines.

Exit codes: 0 all went well, 1 something could not be computed, 2 the command was not understood.
"""

import sys


def main() -> None:
    """The entry point; without the extra `lab` it says how to install it."""
    try:
        from .app import cli
    except ModuleNotFoundError as error:
        if error.name not in ("click", "joblib", "matplotlib", "pyarrow", "pandas"):
            raise
        print(
            f'the command line needs {error.name}: pip install "heavybandits[lab]"', file=sys.stderr
        )
        sys.exit(1)
    cli(prog_name="heavybandits")
