"""The command line: a thin shell over the package.

No traceback reaches a user unless ``--debug`` is given; exit codes: 0 done, 1 an error that the message explains, 2 a
command that was written wrongly, 130 interrupted.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from brgcn.cli import nodes, use
from brgcn.cli.console import print_error, say
from brgcn.cli.data import data_app
from brgcn.errors import BrgcnError

app = typer.Typer(
    name="brgcn",
    help="Bi-level attention for multi-relational graphs: classify nodes and see why.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(data_app)
nodes.register(app)
use.register(app)


@app.callback(invoke_without_command=True)
def _options(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error (anywhere on the line).")
    ] = False,
) -> None:
    if version:
        from importlib.metadata import version as installed

        typer.echo(f"brgcn {installed('brgcn')}")
        raise typer.Exit


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and leave with its exit code."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in arguments
    try:
        app(args=[argument for argument in arguments if argument != "--debug"], prog_name="brgcn")
    except BrgcnError as error:
        if debug:
            raise
        print_error(error)
        sys.exit(1)
    except KeyboardInterrupt:
        if debug:
            raise
        say("interrupted")
        sys.exit(130)
    except MemoryError:
        if debug:
            raise
        remedy = "Use a smaller hidden width, or bases (--set bases=10)."
        print_error(BrgcnError("there is not enough memory", remedy=remedy))
        sys.exit(1)
    except OSError as error:
        if debug:
            raise
        print_error(_explain_os_error(error))
        sys.exit(1)
    except Exception as error:  # a defect of ours: say so in one line, and how to show it to us
        if debug:
            raise
        remedy = "This is a defect of brgcn. Run the command again with --debug and report what it prints."
        print_error(BrgcnError(f"{type(error).__name__}: {error}", remedy=remedy))
        sys.exit(1)


def _explain_os_error(error: OSError) -> BrgcnError:
    import errno

    remedies = {
        errno.ENOSPC: "Free some space or choose another folder; nothing half-written was left.",
        errno.EDQUOT: "Free some of your quota or choose another folder; nothing half-written was left.",
        errno.EACCES: "Choose a folder that you may write to.",
        errno.EROFS: "Choose a folder that you may write to.",
    }
    where = str(error.filename) if error.filename else None
    return BrgcnError(error.strerror or str(error), where=where, remedy=remedies.get(error.errno or 0))
