"""Files to text: .txt, .md, .html and .pdf, whatever their encoding; what is no text is refused."""

import codecs
import csv
import re
from html.parser import HTMLParser
from io import BytesIO, StringIO
from pathlib import Path

from skmil.sources.things import BadThing

TEXT_SUFFIXES = (".txt", ".text", ".md", ".markdown", ".html", ".htm", ".xhtml", ".pdf")
BOMS = [  # the longer ones first: UTF-32's begins with UTF-16's
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
]
CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")  # but tab, line ends and escape
OVERSTRUCK = re.compile(r"[^\n\x08]\x08")  # how typewriters, and manual pages, underline
STRAY = 20  # characters of text for each control character that it may hold; a program has far more
REMEDY = "give its encoding if it is text after all"
CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.IGNORECASE)
FRONT_MATTER = re.compile(r"\A---[^\S\n]*\n.*?\n---[^\S\n]*(?:\n|\Z)", re.DOTALL)
MARKUP = re.compile(r"<!--.*?-->|</?[a-zA-Z][^<>]*>|(?<=\])\([^()\s]*(?:\s\"[^\"]*\")?\)", re.DOTALL)


def read_text(data: bytes, suffix: str, encoding: str = "auto") -> str:
    """The text of a file; HTML without its tags, Markdown with its markup blanked out, PDF page by page.

    Parameters
    ----------
    data : bytes
        The file.
    suffix : str
        The ending of its name, as ``".html"``; a PDF is known by its first bytes.
    encoding : "auto" or a codec
        "auto" goes by the byte-order mark, then by what an HTML page says, then UTF-8, then
        Windows-1252 if the file looks like text.
    """
    if data[:1024].lstrip().startswith(b"%PDF-"):
        return pdf_text(data)
    suffix = suffix.lower()
    if suffix == ".pdf":
        raise BadThing("it is no PDF: it does not begin with %PDF-")
    page = suffix in (".html", ".htm", ".xhtml")
    text = decode(data, _declared(data) if page and encoding == "auto" else encoding)
    if page:
        return html_text(text)
    return markdown_text(text) if suffix in (".md", ".markdown") else text


def decode(data: bytes, encoding: str = "auto") -> str:
    """Bytes as text with one line feed at the ends of lines, or an error that says why not."""
    text = _decoded(data, encoding)
    if CONTROL.search(text):
        text = _without_controls(OVERSTRUCK.sub("", text))
    return text.replace("\r\n", "\n").replace("\r", "\n")


def file_text(path) -> str:
    """The text of a file that is no page and no PDF; an error names the file."""
    try:
        return decode(Path(path).read_bytes())
    except BadThing as error:
        raise BadThing(f"{path}: {error}") from None


def table_rows(path) -> list[list[str]]:
    """Cells of a table of text, divided by tab, semicolon or comma, whichever its first line has most."""
    text = file_text(path)
    first = text.split("\n", 1)[0]
    return list(csv.reader(StringIO(text), delimiter=max("\t;,", key=first.count)))


def _without_controls(text: str) -> str:
    """Spaces for a few stray control characters, as titles of FASTA hold; with many it is no text."""
    found = [m.start() for m in CONTROL.finditer(text)]
    if len(found) * STRAY > len(text):
        raise BadThing(
            f"it is not text: it holds many like the control character {text[found[0]]!r} at character "
            f"{found[0]}; {REMEDY}"
        )
    return CONTROL.sub(" ", text)


def _decoded(data: bytes, encoding: str) -> str:
    if encoding != "auto":
        try:
            return data.decode(encoding)
        except UnicodeError as error:
            raise BadThing(f"it is not {encoding}: {error}; give another encoding") from None
    codec = next((codec for mark, codec in BOMS if data.startswith(mark)), "utf-8")
    if codec == "utf-8" and b"\0" in data:
        raise BadThing(f"it is not text: it holds a zero byte at {data.index(0)}; {REMEDY}")
    try:
        return data.decode(codec)
    except UnicodeDecodeError as error:
        if codec != "utf-8":
            raise BadThing(f"it is damaged: {error}") from None
    try:
        return data.decode("cp1252")
    except UnicodeDecodeError as error:
        raise BadThing(
            f"it is neither UTF-8 nor Windows-1252: byte {data[error.start]:#04x} at {error.start}; "
            "give its encoding"
        ) from None


def _declared(data: bytes) -> str:
    """The encoding that an HTML page names, if Python knows it and no byte-order mark speaks."""
    found = CHARSET.search(data[:4096])
    if found is None or any(data.startswith(mark) for mark, _ in BOMS):
        return "auto"
    try:
        return codecs.lookup(found.group(1).decode("ascii")).name
    except LookupError:
        return "auto"


def markdown_text(text: str) -> str:
    """The same text, as long, with spaces for front matter, tags, comments and the targets of links."""
    return MARKUP.sub(_blank, FRONT_MATTER.sub(_blank, text, count=1))


def _blank(match: re.Match) -> str:
    return re.sub(r"[^\n]", " ", match.group())


def html_text(page: str) -> str:
    """What a reader of the page would see: paragraphs divided by blank lines."""
    parser = _Page()
    parser.feed(page)
    parser.close()
    text = re.sub(r"[^\S\n]+", " ", "".join(parser.pieces))
    return re.sub(r" ?\n(?: ?\n)+ ?", "\n\n", text).strip()


class _Page(HTMLParser):
    """Collects text; blocks begin and end a paragraph, scripts and styles are left out."""

    HIDDEN = {"script", "style", "template", "noscript", "svg", "math", "iframe", "object"}
    INLINE = set(
        "a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark q s samp "
        "small span strike strong sub sup time tt u var wbr".split()
    )

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self.hidden: list[str] = []
        self.verbatim = 0

    def handle_starttag(self, tag, attrs):
        if tag in self.HIDDEN:
            self.hidden.append(tag)
        self.verbatim += tag == "pre"
        if tag == "br":
            self.pieces.append("\n")
        elif tag in ("td", "th"):
            self.pieces.append(" ")
        elif tag not in self.INLINE:
            self.pieces.append("\n\n")

    def handle_startendtag(self, tag, attrs):
        if tag not in self.HIDDEN:
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag):
        if tag in self.hidden:
            del self.hidden[self.hidden.index(tag) :]
        self.verbatim -= tag == "pre" and self.verbatim > 0
        if tag not in self.INLINE and tag not in ("td", "th", "br"):
            self.pieces.append("\n\n")

    def handle_data(self, data):
        if not self.hidden:
            self.pieces.append(data if self.verbatim else re.sub(r"\s+", " ", data))


def pdf_text(data: bytes) -> str:
    """The text of a PDF, pages divided by blank lines."""
    try:
        from pypdf import PdfReader
    except ImportError:
        raise ImportError("PDF files need pypdf: pip install skmil[texts]") from None
    try:
        reader = PdfReader(BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise BadThing("it is a PDF with a password; save it without one")
        text = "\n\n".join(page.extract_text() for page in reader.pages)
    except BadThing:
        raise
    except Exception as error:  # pypdf raises nearly anything on a damaged file
        raise BadThing(f"it is a PDF that cannot be read: {error}") from None
    if not text.strip():
        raise BadThing("it is a PDF without text, as from a scanner; recognise its characters first")
    return CONTROL.sub(" ", text)
