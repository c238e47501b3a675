"""How bags show themselves in a notebook."""

from html import escape

import numpy as np


def bags_html(bags) -> str:
    """A histogram of bag sizes and the first few bags."""
    counts, edges = np.histogram(bags.sizes, bins=min(20, 1 + int(np.ptp(bags.sizes))))
    heights = 1 + 39 * counts / counts.max()
    bars = "".join(
        f'<span title="{a:.0f} to {b:.0f} instances: {c} bags" style="display:inline-block;'
        f"width:8px;margin-right:1px;background:#4878a8;height:{h:.0f}px"
        '"></span>'
        for c, h, a, b in zip(counts, heights, edges[:-1], edges[1:], strict=True)
    )
    first = "".join(
        f"<tr><td>{i}</td><td>{escape(str(bags.ids[i]))}</td><td>{bags.sizes[i]}</td></tr>"
        for i in range(min(5, len(bags)))
    )
    return (
        f"<div><b>{escape(repr(bags))}</b><div style='margin:6px 0'>{bars}</div>"
        f"<table><tr><th>bag</th><th>id</th><th>instances</th></tr>{first}</table></div>"
    )
