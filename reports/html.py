"""The verdict as one self-contained HTML page: works from a file, without a network, and on paper."""

import base64
import hashlib
from dataclasses import dataclass
from importlib import resources
from typing import Any

import jinja2
from bokeh.resources import Resources
from markupsafe import Markup

from reports import figures, nodes, provenance
from reports.curve_plots import curve_plots
from reports.evidence import drain_suggestions, ranked_evidence
from reports.gaps import grouped
from reports.heat_map_plots import heat_map_plots
from reports.judge import Verdict
from reports.node_plots import node_plots
from reports.operator import operator_line
from reports.page_rows import rows
from reports.pair_plots import pair_plots
from reports.scaling_plots import scaling_plots
from reports.state import State
from reports.summary import headline, known_failure, tally

_FUNCTIONS = {
    "State": State,
    "duration": figures.duration,
    "folded": nodes.folded,
    "grouped": grouped,
    "headline": headline,
    "known_failure": known_failure,
    "moment": figures.moment,
    "operator_line": operator_line,
    "tally": tally,
}


def render(verdict: Verdict) -> str:
    """The page. Everything from the report is escaped; only this package's and Bokeh's own scripts may run."""
    curves = [*curve_plots(verdict.cases), *heat_map_plots(verdict.cases), *scaling_plots(verdict.cases)]
    per_node = [*node_plots(verdict.cases), *pair_plots(verdict.cases)]
    evidence = ranked_evidence(verdict.cases)
    scripts = inline_scripts(own("report.js"), with_plots=bool(curves or per_node))
    page = environment(**_FUNCTIONS).get_template("report.html.j2")
    return page.render(
        verdict=verdict,
        session=verdict.session,
        rows=rows(verdict),
        curves=curves,
        per_node=per_node,
        evidence=evidence,
        drain_suggestions=drain_suggestions(evidence),
        plot_items=[plot.item for plot in (*curves, *per_node)],
        provenance=provenance.listings(verdict.cases),
        suite_revisions=provenance.suite_revisions(verdict.cases),
        style=Markup(own("report.css")),
        scripts=[Markup(script) for script in scripts.texts],
        script_hashes=scripts.hashes,
    )


@dataclass(frozen=True)
class Scripts:
    """The scripts that a page holds; ``hashes`` for its Content-Security-Policy."""

    texts: tuple[str, ...]

    @property
    def hashes(self) -> str:
        return " ".join(f"'sha256-{_digest(text)}'" for text in self.texts)


def inline_scripts(script: str, with_plots: bool) -> Scripts:
    """``script``, after Bokeh's own where there are plots."""
    bokeh = ["\n".join(Resources(mode="inline", components=["bokeh"]).js_raw)] if with_plots else []
    return Scripts((*bokeh, script))


def environment(**functions: Any) -> jinja2.Environment:
    """This package's templates, escaping by themselves; they may call ``functions``."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("reports"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.policies["json.dumps_kwargs"] = {"sort_keys": False}  # Bokeh defines an object before it refers to it
    environment.globals.update(functions)
    return environment


def own(name: str) -> str:
    """A file of this package's templates."""
    return resources.files("reports").joinpath("templates", name).read_text(encoding="utf-8")


def _digest(script: str) -> str:
    """What a Content-Security-Policy names a script by."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
