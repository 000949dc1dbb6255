"""The page of the command line: the help of every command, as it prints it."""

import click

from heavybandits.cli.app import cli

INTRODUCTION = """# Command line

`pip install "heavybandits[lab]"` brings the command `heavybandits`. Tables go to stdout, progress
to stderr; exit codes are 0 if all went well, 1 if something could not be computed, 2 if the command
was not understood.

"""


def make_page() -> str:
    """Every command with its help."""
    context = click.Context(cli, info_name="heavybandits", max_content_width=78)
    parts = [INTRODUCTION, block(cli.get_help(context))]
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        if command is not None and not command.hidden:
            inner = click.Context(command, context, name, max_content_width=78)
            parts.append(f"\n## {name}\n\n" + block(command.get_help(inner)))
    return "".join(parts)


def block(text: str) -> str:
    return f"```text\n{text}\n```\n"
