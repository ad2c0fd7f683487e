"""The steps of the simulator, and its start, call no function of the C library whose last bit is its own choice.

Functions that IEEE 754 fixes (square roots) or that do not round are allowed; ``base/elementary.hpp`` has the rest.
"""

import re
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[2] / "emt_app/src"
FOLDERS = ("base", "primitives", "network", "elements", "solver", "parallel")
EXACT = {
    "sqrt", "abs", "fabs", "ceil", "floor", "trunc", "round", "rint", "nearbyint", "lround", "llround", "lrint",
    "llrint", "fmod", "remainder", "remquo", "modf", "frexp", "ldexp", "scalbn", "scalbln", "ilogb", "logb", "copysign",
    "nextafter", "fmax", "fmin", "isfinite", "isinf", "isnan", "isnormal", "signbit", "norm", "conj", "real", "imag",
}  # fmt: skip
ROUNDED = {
    "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sincos",
    "exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p", "pow", "cbrt", "hypot", "erf", "erfc", "tgamma",
    "lgamma", "fma", "polar", "arg",
}  # fmt: skip
CALL = re.compile(r"(?<!\w)(?:std\s*::\s*|__builtin_)?(\w+?)[fl]?\s*\(")
NOT_CODE = re.compile(r"//[^\n]*|/\*.*?\*/|R\"\(.*?\)\"|\"(?:\\.|[^\"\\\n])*\"", re.DOTALL)


def rounded_calls(source: str) -> list[str]:
    """Return the names of such functions in calls; ``abs`` of complex and of real numbers look alike."""
    code = NOT_CODE.sub(" ", source)
    names = [match[1] for match in CALL.finditer(code)] + re.findall(r"(?<!\w)(\w+)\s*\(", code)
    return sorted(set(names) & ROUNDED)


def test_the_lists_have_nothing_in_common() -> None:
    assert not EXACT & ROUNDED


def test_no_function_with_a_rounding_of_its_own_is_called() -> None:
    files = [path for folder in FOLDERS for path in (SOURCES / folder).iterdir()]
    assert len(files) > 60
    found = {path.name: calls for path in files if (calls := rounded_calls(path.read_text()))}
    assert not found
    exact = {name for path in files for name in re.findall(r"std::(\w+)\(", path.read_text())} & EXACT
    assert {"sqrt", "floor", "ldexp"} <= exact, "the calls are where they are looked for"


@pytest.mark.parametrize(
    ("source", "calls"),
    [
        ("x = std::sin(y);", ["sin"]),
        ("x = sinf (y);", ["sin"]),
        ("x = __builtin_expl(y);", ["exp"]),
        ("v.array().exp()", ["exp"]),
        ("std::pow(z, -3) + power(z, 3)", ["pow"]),
        ("// std::sin(x)\n/* cos(x) */ \"tan(x)\" R\"(log(x))\"", []),
        ("std::sqrt(x) + std::ldexp(exponential(x), 1) + cos_sin(x).cos", []),
    ],
)  # fmt: skip
def test_calls_are_found(source: str, calls: list[str]) -> None:
    assert rounded_calls(source) == calls
