"""Write the keys of a site's files as tables of ``docs/site-reference.md``, in addition to the vocabulary's tables."""

from kappa.core.sites.description import Environment, Partition, SiteFile
from kappa.core.sites.expected import Expected
from kappa.core.sites.references import Source
from kappa.core.vocabulary.rules import Keep, QuarantineRule
from kappa.core.vocabulary.tables import keys


def of_files() -> dict[str, str]:
    """Return each table as Markdown, by its title."""
    return {
        "site keys": keys(SiteFile, apart=(Partition, Environment, QuarantineRule, Keep)),
        "partition keys": keys(Partition),
        "environment keys": keys(Environment),
        "expected keys": keys(Expected),
        "source keys": keys(Source),
    }
