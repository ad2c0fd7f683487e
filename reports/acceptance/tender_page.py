"""Render the form of a bid as a page without a script, to print and fill in by hand."""

from collections.abc import Mapping

from kappa.core.sites.contract import Contract
from reports.acceptance.bid_form import asked, condition
from reports.acceptance.dossier_page import renderer, stylesheet
from reports.show.html_page import template_environment


def bid_page(contract: Contract, inputs: Mapping[str, str], suite: str) -> str:
    """Return the page. Every value is escaped.

    :param inputs: SHA-256 of each frozen input.
    :param suite: revision of the frozen suite.
    """
    return template_environment("reports.acceptance").get_template("bid.html.j2").render(
        contract=contract, inputs=inputs, suite=suite, asked=asked, condition=condition, style=stylesheet(),
        renderer=renderer(),
    )  # fmt: skip
