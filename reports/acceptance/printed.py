"""Whether a PDF is what a page prints: to the byte, or else in what it says."""

import io
from enum import Enum
from typing import cast

import pypdf
from pypdf.errors import PyPdfError
from pypdf.generic import DictionaryObject


class Printed(Enum):
    SAME = "same"
    OTHER = "other"
    UNKNOWN = "unknown"
    """Other fonts or another version of the printer break lines and pages otherwise."""


def compare(stored: bytes, anew: bytes) -> Printed:
    """``stored`` held against the same page printed ``anew``."""
    if stored == anew:
        return Printed.SAME
    try:
        words, printer = _read(stored)
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        return Printed.OTHER
    words_anew, printer_anew = _read(anew)
    if words == words_anew:
        return Printed.SAME
    return Printed.OTHER if printer == printer_anew else Printed.UNKNOWN


def _read(pdf: bytes) -> tuple[str, tuple[str, frozenset[str]]]:
    """The text without white space; the printer, and the names of the fonts."""
    reader = pypdf.PdfReader(io.BytesIO(pdf))
    fonts = {
        str(font.get_object()["/BaseFont"]).rpartition("+")[2]
        for page in reader.pages
        for font in cast(DictionaryObject, page["/Resources"]).get("/Font", {}).values()
    }
    text = "".join("".join(page.extract_text().split()) for page in reader.pages)
    producer = str(reader.metadata.producer if reader.metadata else "")
    return text, (producer, frozenset(fonts))
