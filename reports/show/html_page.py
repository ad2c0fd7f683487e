"""Render the frame of every HTML page: one self-contained file that works without a network, and on paper.

A page without plots does not load Bokeh, because loading takes a third of a second.
"""

import base64
import hashlib
import math
from collections.abc import Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup

if TYPE_CHECKING:
    from reports.show.plot import Plot

OWN = ("node_lists.js", "report.js")


def render_page(
    template: str, plots: "Sequence[Plot]", functions: dict[str, Any], /, own: Sequence[str] = OWN, **values: Any
) -> str:
    """Return the page. Every value is escaped; only scripts of this package and of Bokeh may run.

    :param own: this package's scripts on the page, in order.
    """
    scripts = ["".join(map(_own, own))]
    if plots:
        from bokeh.resources import Resources  # noqa: PLC0415

        scripts.insert(0, "\n".join(Resources(mode="inline", components=["bokeh"]).js_raw))
    environment = template_environment("reports.show")
    environment.policies["json.dumps_kwargs"] = {"sort_keys": False}  # Bokeh defines an object before it refers to it
    environment.globals.update(functions)
    environment.filters["breakable"] = breakable
    return environment.get_template(template).render(
        plot_items=[plot.item for plot in plots],
        style=Markup(_own("report.css")),
        scripts=[Markup(script) for script in scripts],
        script_hashes=" ".join(f"'sha256-{_digest(script)}'" for script in scripts),
        **values,
    )


def template_environment(package: str) -> jinja2.Environment:
    """Return the templates of ``package``; every value is escaped, and an unknown name is an error."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader(package),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )


def breakable(text: str) -> Markup:
    """Let lines break after underscores, so that none breaks inside a word."""
    return Markup("_<wbr>").join(text.split("_"))


def _own(name: str) -> str:
    return resources.files("reports.show").joinpath("templates", name).read_text(encoding="utf-8")


def _digest(script: str) -> str:
    """Return a script's hash for a Content-Security-Policy."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def round_steps(start: float, end: float) -> list[float]:
    """Return about four multiples of 1, 2 or 5 times a power of ten from ``start`` to the larger ``end``."""
    rough = (end - start) / 4
    decade = 10.0 ** math.floor(math.log10(rough))
    step = next(decade * factor for factor in (1, 2, 5, 10) if decade * factor >= rough)
    return [number * step for number in range(math.ceil(start / step), math.floor(end / step) + 1)]
