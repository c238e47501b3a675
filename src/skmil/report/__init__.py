"""Records -> a table for the terminal, and a self-contained HTML report."""

from skmil.report.html import to_html, write_html
from skmil.report.summary import corrected_ttest, sections
from skmil.report.text import to_text

__all__ = ["corrected_ttest", "sections", "to_html", "to_text", "write_html"]
