"""What every HTML page shares: one self-contained file that works without a network, and on paper."""

import base64
import hashlib
from collections.abc import Sequence
from importlib import resources
from typing import Any

import jinja2
from bokeh.resources import Resources
from markupsafe import Markup

from reports.show.plot import Plot

OWN = ("node_lists.js", "report.js")


def render_page(
    template: str, plots: Sequence[Plot], functions: dict[str, Any], /, own: Sequence[str] = OWN, **values: Any
) -> str:
    """The page. Every value is escaped; only this package's and Bokeh's own scripts may run.

    :param own: this package's scripts on the page, in their order.
    """
    scripts = ["".join(map(_own, own))]
    if plots:
        scripts.insert(0, "\n".join(Resources(mode="inline", components=["bokeh"]).js_raw))
    return (
        _environment(functions)
        .get_template(template)
        .render(
            plot_items=[plot.item for plot in plots],
            style=Markup(_own("report.css")),
            scripts=[Markup(script) for script in scripts],
            script_hashes=" ".join(f"'sha256-{_digest(script)}'" for script in scripts),
            **values,
        )
    )


def _environment(functions: dict[str, Any]) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("reports.show"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.policies["json.dumps_kwargs"] = {"sort_keys": False}  # Bokeh defines an object before it refers to it
    environment.globals.update(functions)
    return environment


def _own(name: str) -> str:
    return resources.files("reports.show").joinpath("templates", name).read_text(encoding="utf-8")


def _digest(script: str) -> str:
    """What a Content-Security-Policy names a script by."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
