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
    return "".join(parts + helps(cli, context, "##"))


def helps(group: click.Group, context: click.Context, mark: str) -> list[str]:
    """The help of every command of a group, and of those that are groups themselves."""
    parts = []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        inner = click.Context(command, context, name, max_content_width=78)
        parts.append(f"\n{mark} {inner.command_path}\n\n" + block(command.get_help(inner)))
        if isinstance(command, click.Group):
            parts += helps(command, inner, f"{mark}#")
    return parts


def block(text: str) -> str:
    return f"```text\n{text}\n```\n"
