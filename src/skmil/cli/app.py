"""The application that verbs register with, and where they speak."""

import typer
from rich.console import Console

app = typer.Typer(
    help="Multiple-instance learning: bags of instances in, predictions and explanations out.",
    pretty_exceptions_enable=False,
)
out = Console()
err = Console(stderr=True)
