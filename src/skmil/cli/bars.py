"""A bar that moves on a terminal, and says nothing elsewhere."""

from rich.console import Console
from rich.progress import Progress


class MovingBar(Progress):
    """rich's progress, gone when it has ended.

    Parameters
    ----------
    *columns : as rich has them
    console : where to show it
    """

    def __init__(self, *columns, console: Console):
        super().__init__(*columns, console=console, transient=True, disable=not console.is_terminal)

    def stop(self) -> None:
        """End it; older versions of rich end a bar that was never shown with an empty line."""
        if not self.disable:
            super().stop()
