"""State the meaning of a site's key beside its type, for the tables of ``docs/site-reference.md``."""

from msgspec import Meta


def said(meaning: str, read_by: str = "", unit: str = "", default: str = "") -> Meta:
    """Return the annotation of a key.

    :param read_by: the checks that read it.
    :param default: the behaviour without the key, in words; if empty, the field's own default.
    """
    return Meta(description=meaning, extra={"read_by": read_by, "unit": unit, "default": default})
