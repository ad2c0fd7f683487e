"""The keys of a site's files as tables of ``docs/site-reference.md``, beside those of the vocabulary."""

from kappa.core.sites.description import Environment, Partition, SiteFile
from kappa.core.sites.expected import Expected
from kappa.core.sites.references import Source
from kappa.core.vocabulary.rules import Keep, QuarantineRule
from kappa.core.vocabulary.tables import keys


def of_files() -> dict[str, str]:
    """Each table by its title, as Markdown."""
    return {
        "site keys": keys(SiteFile, apart=(Partition, Environment, QuarantineRule, Keep)),
        "partition keys": keys(Partition),
        "environment keys": keys(Environment),
        "expected keys": keys(Expected),
        "source keys": keys(Source),
    }
