"""`qmd-sidecar completion`: what a shell needs to complete verbs, options, paths and the ids of agents."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from sidecar.cli.exits import verb

#: By this variable, which click makes of the name, a shell asks the command for what can follow.
_VARIABLE = "_QMD_SIDECAR_COMPLETE"

#: With the mark of click for lines that are not to be joined.
_WHERE = """\b
~/.bashrc                   eval "$(qmd-sidecar completion bash)"
~/.zshrc, after compinit    eval "$(qmd-sidecar completion zsh)"
~/.config/fish/config.fish  qmd-sidecar completion fish | source
"""


@click.command(epilog=_WHERE)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@verb
def completion(shell: str) -> None:
    """Print what makes a shell complete verbs, options, paths and agents."""
    context = click.get_current_context()
    completer = get_completion_class(shell)
    assert completer is not None, "click knows the three"
    print(completer(context.find_root().command, {}, "qmd-sidecar", _VARIABLE).source())
