"""New axes for the plots of this package."""


def new_axes(width: float = 6.0, height: float = 4.0, rows: int = 1):
    """Axes of a new figure that pyplot knows, so that a notebook or ``plt.show()`` shows it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("plots need matplotlib; install it with: pip install 'skmil[plot]'") from None
    return plt.subplots(rows, figsize=(width, height), layout="constrained", sharex=True)[1]
