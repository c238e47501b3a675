"""The command line: ``skmil bench|methods|data|convert|gram|fit|predict|explain|show|search``."""

import atexit
import os
import sys
import warnings
from collections.abc import Sequence

from skmil._version import __version__

BAD_INPUT = 2
INTERRUPTED = 130
ABOUT = "Multiple-instance learning: bags of instances in, predictions and explanations out."
# The first sentence of each verb: `skmil --help` shows them without importing what the verbs need.
VERBS = {
    "bench": "Compare methods by cross-validation; stop and resume at will.",
    "fit": "Fit a method on all bags or things and write the model.",
    "predict": "Predict the label of each bag: id, prediction and score, as CSV.",
    "explain": "Say which instances speak for a prediction, and which against.",
    "show": "Print what a model holds: method, classes, features, version.",
    "search": "Find things like these on a page that learns from your marks.",
    "methods": "List all methods: paper, tasks, what they assume.",
    "data": "Describe a data set, or list those that are known by name.",
    "convert": "Write bags, or things as bags, in another format.",
    "gram": "Write the Gram matrix of a kernel to .npy, .csv or .zarr.",
    "warm": "Compile everything once, so that nothing waits for it later.",
}


class Interrupted(Exception):
    """Ctrl-C, with a word about what is left and how to go on."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code: 0, 2 for bad input, 130 for Ctrl-C.

    Whatever is wrong with the input is said in one line on stderr; ``SKMIL_DEBUG=1`` shows where it
    was found.
    """
    given = list(sys.argv[1:] if argv is None else argv)
    try:
        if given in ([], ["--help"], ["--version"]):
            return run_app(_short_app(), given, "skmil")
        from skmil.cli.verbs import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich", "click"):
            raise
        return _say(f"the command line needs {error.name}; install it with: pip install 'skmil[cli]'")
    except KeyboardInterrupt:  # while what the verbs need is loaded
        return _say("interrupted", INTERRUPTED)
    code = run_app(app, argv, "skmil")
    if code == INTERRUPTED and argv is None:
        _leave(code)
    return code


def _leave(code: int) -> None:
    """End the process now: work left behind in threads would hold it up, or abort it at its end."""
    atexit._run_exitfuncs()  # workers and folders for a while are put away
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def new_app():
    """A typer application of ours, without verbs."""
    import typer

    app = typer.Typer(help=ABOUT, pretty_exceptions_enable=False, rich_markup_mode=None)

    @app.callback(invoke_without_command=True)
    def options(
        context: typer.Context,
        version: bool = typer.Option(False, "--version", help="Show the version and stop."),
    ) -> None:
        if version:
            print(f"skmil {__version__}")
        elif context.invoked_subcommand is None:
            print(context.get_help())

    return app


def _short_app():
    """The application with the names of its verbs only, which is enough for its help."""
    app = new_app()
    for name, about in VERBS.items():
        app.command(name, help=about)(lambda: None)
    return app


def run_app(app, argv: Sequence[str] | None, name: str) -> int:
    """Run a typer application; whatever goes wrong becomes one line and an exit code."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _warn
            code = app(args=argv, prog_name=name, standalone_mode=False) or 0
        # typer may make this code of Ctrl-C, without a word
        return _say("interrupted", INTERRUPTED) if code == INTERRUPTED else code
    except Interrupted as error:
        return _say(str(error), INTERRUPTED)
    except KeyboardInterrupt:
        return _say("interrupted", INTERRUPTED)
    except BrokenPipeError:
        # The reader, such as `head`, has seen enough; leave nothing for Python to flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ValueError, TypeError, OSError, ImportError, MemoryError) as error:
        return _say(_one_line(error))
    except Exception as error:
        # Wrong options come as exceptions of typer, whose classes moved between its versions.
        if type(error).__name__ == "Abort":
            return _say("interrupted", INTERRUPTED)
        if not hasattr(error, "format_message"):
            raise
        return _say(f"{' '.join(error.format_message().split()).rstrip('.')}; {_where_to_look(error)}")


def _where_to_look(error) -> str:
    """The help of the verb whose options were wrong."""
    context = getattr(error, "ctx", None)
    return f"see `{context.command_path if context else 'skmil'} --help`"


def _say(what: str, code: int = BAD_INPUT) -> int:
    """One line on stderr."""
    if os.environ.get("SKMIL_DEBUG") and sys.exception() is not None:
        raise
    print(f"skmil: {what}", file=sys.stderr)
    return code


def _warn(message, *_args, **_options) -> None:
    """A warning of some library in one line, without its source code."""
    print(f"skmil: warning: {' '.join(str(message).split())}", file=sys.stderr)


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__
