"""The command line: a thin shell over the package.

No traceback reaches a user unless ``--debug`` is given; exit codes: 0 done, 1 an error that the message explains, 2 a
command that was written wrongly, 130 interrupted.
"""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer

from brgcn.cli import bench, ensemble, links, reproduce, train, tune, use
from brgcn.cli.console import print_error, say
from brgcn.cli.data import data_app
from brgcn.errors import BrgcnError, is_out_of_memory

INTERRUPTED = 130

app = typer.Typer(
    name="brgcn",
    help="Bi-level attention for multi-relational graphs: classify nodes, predict links, and see why.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(data_app)
train.register(app)
use.register(app)
links.register(app)
ensemble.register(app)
bench.register(app)
reproduce.register(app)
tune.register(app)


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
    if isinstance(sys.stdout, io.TextIOWrapper):  # a name that the terminal cannot show must not stop anything
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        app(args=[argument for argument in arguments if argument != "--debug"], prog_name="brgcn")
    except BrgcnError as error:
        if debug:
            raise
        print_error(error)
        sys.exit(1)
    except SystemExit as stop:
        if stop.code == INTERRUPTED:  # typer has turned the KeyboardInterrupt into this
            say("interrupted")
        raise
    except OSError as error:
        if debug:
            raise
        print_error(_explain_os_error(error))
        sys.exit(1)
    except Exception as error:  # a defect of ours: say so in one line, and how to show it to us
        if debug:
            raise
        if is_out_of_memory(error):
            remedy = (
                "For nodes use a smaller width (--set hidden=16) or fewer bases (--set bases=10), for links smaller "
                "batches (--set batch=100) or a smaller width (--set width=100)."
            )
            print_error(BrgcnError("there is not enough memory", remedy=remedy))
            sys.exit(1)
        remedy = "This is a defect of brgcn. Run the command again with --debug and report what it prints."
        print_error(BrgcnError(f"{type(error).__name__}: {error}", remedy=remedy))
        sys.exit(1)


def _explain_os_error(error: OSError) -> BrgcnError:
    import errno

    full = "Free some space or choose another folder; nothing half-written was left."
    closed = "Choose a folder that you may write to."
    known = {
        errno.ENOSPC: ("there is no space left on the disk", full),
        errno.EDQUOT: ("your quota of the disk is used up", full),
        errno.EFBIG: ("the file would be larger than is allowed", full),
        errno.EACCES: ("permission denied", closed),
        errno.EROFS: ("the disk cannot be written to", closed),
        errno.EEXIST: ("this is a file, but a folder is needed", "Choose another place."),
        errno.ENOTDIR: ("a part of this path is a file, but a folder is needed", "Choose another place."),
        errno.EISDIR: ("this is a folder, but a file is to be written", "Name a file."),
    }
    message, remedy = known.get(error.errno or 0, (error.strerror or str(error), None))
    path = error.filename2 or error.filename  # of a renaming the place, not the name beside it
    return BrgcnError(message, where=str(path) if path else None, remedy=remedy)
