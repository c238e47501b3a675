"""Agreement of the PPMM kernel with the labels for each power p (Wang, Yang & Zha, ICML 2008, Figure 1)."""

from collections.abc import Mapping

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skmil.inspection._axes import new_axes


def plot_alignment(embeddings, ax=None):
    """Draw alignment against p, each curve divided by its maximum, with the learned p marked.

    Parameters
    ----------
    embeddings : PosteriorEmbedding, or a mapping from names to several
        Fitted with labels.
    ax : matplotlib axes, optional
        New ones where not given.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from skmil.datasets import make_mixture_bags
    >>> from skmil.embeddings import PosteriorEmbedding
    >>> from skmil.inspection import plot_alignment
    >>> X, y = make_mixture_bags(mechanism=3, n_bags=40, random_state=0, return_X_y=True)
    >>> ax = plot_alignment(PosteriorEmbedding(n_init=1, random_state=0).fit(X, y))
    >>> ax.get_xlabel()
    'p'
    """
    named = embeddings if isinstance(embeddings, Mapping) else {"": embeddings}
    curves = {name: _curve(e, name) for name, e in named.items()}
    ax = new_axes(5, 3.5) if ax is None else ax
    for name, embedding in named.items():
        p, values = curves[name]
        (line,) = ax.plot(p, values, label=f"{name} (p = {embedding.p_:.2f})".strip())
        ax.axvline(embedding.p_, color=line.get_color(), linestyle=":", linewidth=1)
    ax.set(xlabel="p", ylabel="kernel alignment / maximum", xlim=(0, 3))
    ax.legend()
    return ax


def _curve(embedding, name: str) -> tuple[np.ndarray, np.ndarray]:
    check_is_fitted(embedding)
    if not len(embedding.alignment_curve_):
        raise ValueError(
            f"the embedding {name!r} was fitted without labels; there is nothing to align with"
        )
    p, values = embedding.alignment_curve_.T
    return p, values / max(values.max(), np.finfo(float).tiny)
