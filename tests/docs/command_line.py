"""docs/command-line.md, made from the commands themselves.

    python -m tests.docs.command_line

It is what `--help` says of every verb, on one page.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

import click

from sidecar.cli import ALIASES, VERBS, command
from sidecar.cli.exits import MEANINGS
from tests.running import REPOSITORY

PAGE = REPOSITORY / "docs" / "command-line.md"
#: The verb that takes nothing but what every verb takes.
PLAINEST = "version"
HEAD = """# The command line

Made by `python -m tests.docs.command_line` from what `--help` says.

{purpose}

Data goes to standard output, everything else to standard error. Colour and links are for terminals: `NO_COLOR` takes
the colour away, `FORCE_COLOR` gives it to a pipe, `TERM=dumb` means neither. Signs are ASCII where the locale spells no
others. While a call takes long, a line on standard error says how far it is: in place on a terminal, every ten seconds
elsewhere. Ctrl-C ends the wait and not the work."""


def page() -> str:
    """The whole page."""
    root = click.Context(command, info_name="qmd-sidecar")
    head = HEAD.format(purpose=_text(command.help))
    return "\n\n".join([head, *_exit_codes(), *_shared(root), *_verbs(root)]) + "\n"


def _exit_codes() -> Iterator[str]:
    yield "## Exit codes"
    yield "\n".join(["| code | |", "|---|---|", *(f"| {code} | {meaning} |" for code, meaning in MEANINGS.items())])


def _shared(root: click.Context) -> Iterator[str]:
    plainest = _command(command, root, PLAINEST)
    yield "## Common options"
    yield "Of every verb" + "".join(f", but not of `{name}`" for name in VERBS if not _is_common(root, name)) + "."
    yield _options(plainest.params, click.Context(plainest, parent=root))


def _is_common(root: click.Context, name: str) -> bool:
    """Whether a verb, or what can be typed inside it, takes the common options."""
    verb = _command(command, root, name)
    return isinstance(verb, click.Group) or any(param.name == "socket" for param in verb.params)


def _verbs(root: click.Context) -> Iterator[str]:
    for name in VERBS:
        yield from _verb(_command(command, root, name), click.Context(command, info_name="qmd-sidecar"), name)
    yield "## Other names"
    yield "\n".join(f"- `{alias}` is `{name}`." for alias, name in ALIASES.items())


def _verb(verb: click.Command, parent: click.Context, name: str) -> Iterator[str]:
    context = click.Context(verb, info_name=name, parent=parent)
    yield f"{'#' * context.command_path.count(' ')}# {name}"
    yield f"    {context.command_path} {' '.join(verb.collect_usage_pieces(context))}"
    yield _text(verb.help)
    shared = {param.name for param in _command(command, parent.find_root(), PLAINEST).params}
    if own := [param for param in verb.params if param.name not in shared and isinstance(param, click.Option)]:
        yield _options(own, context)
    if verb.epilog:
        yield _code(verb.epilog)
    for inner in verb.list_commands(context) if isinstance(verb, click.Group) else ():
        yield from _verb(_command(verb, context, inner), context, inner)


def _command(group: click.Command, context: click.Context, name: str) -> click.Command:
    assert isinstance(group, click.Group)
    found = group.get_command(context, name)
    assert found is not None
    return found


def _options(params: Iterable[click.Parameter], context: click.Context) -> str:
    records = [record for param in params if (record := param.get_help_record(context))]
    rows = (f"| `{_cell(flags)}` | {_cell(meaning)} |" for flags, meaning in records)
    return "\n".join(["| option | |", "|---|---|", *rows])


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _text(told: str | None) -> str:
    return "\n".join(line.strip() for line in (told or "").strip().splitlines())


def _code(text: str) -> str:
    """Lines that are to be typed as they stand."""
    return "\n".join(f"    {line}" for line in text.replace("\b", "").strip().splitlines())


def main() -> int:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
