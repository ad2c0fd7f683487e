"""The meaning of a key of a site's files, stated beside its type: the tables of ``docs/site-reference.md``."""

from msgspec import Meta


def said(meaning: str, read_by: str = "", unit: str = "", default: str = "") -> Meta:
    """Annotate a key.

    :param read_by: the checks that read it.
    :param default: what holds without the key, in words; by default the field's own default.
    """
    return Meta(description=meaning, extra={"read_by": read_by, "unit": unit, "default": default})
