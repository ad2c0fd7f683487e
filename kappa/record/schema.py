"""The shape of what is read, as JSON Schema: only what the reports use, so that newer ReFrame versions still fit."""

import contextlib
import reprlib
from typing import Any

import jsonschema
import jsonschema_rs
from jsonschema.exceptions import best_match

from kappa.ground.clean_text import clean, one_line
from kappa.ground.errors import InputError

Schema = dict[str, Any]


def _optional(kind: str) -> Schema:
    return {"type": [kind, "null"]}


def _map(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _object(required: Schema, optional: Schema | None = None) -> Schema:
    return {"type": "object", "required": list(required), "properties": {**required, **(optional or {})}}


STRING: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
BOOLEAN: Schema = {"type": "boolean"}
STRINGS = _list(STRING)
LIST: Schema = {"type": "array"}

# [value, reference, lower, upper, unit, result]; anything may have been extracted as the value.
PERFVALUE: Schema = {
    "type": "array",
    "minItems": 5,
    "prefixItems": [{}, *[_optional("number")] * 3, _optional("string"), _optional("string")],
}

CENSUS = _object(
    {
        "checks": _list(
            _object({"name": STRING, "family": STRING, "offered": BOOLEAN, "missing": STRINGS}, {"tags": STRINGS})
        ),
        "not_loaded": _list(_object({"file": STRING, "problem": STRING})),
    },
    {"suite_revision": STRING, "install": _map(STRING)},
)

# Parameters that tell cases of one check apart, and what a case over ranks records.
VARIANT_KEYS = (
    "scale", "placement", "target", "exchange", "ranks", "program", "buffers", "transport", "pattern", "subtype",
    "sync",
)  # fmt: skip
HEAT_MAP_TITLES = ("x", "x_unit", "y", "y_unit", "z", "z_unit")
SCALING_KEYS = ("series", "ranks", "speedup", "efficiency", "karp_flatt", "kappa_us")
SCALING = _object(
    {
        "series": STRING,
        "ranks": {"type": "integer", "minimum": 1},
        **{key: NUMBER for key in ("speedup", "efficiency", "kappa_us")},
        "karp_flatt": _optional("number"),
    }
)
FINDING = _object(
    {
        "kind": {"enum": ["node", "link", "switch"]},
        **{key: STRING for key in ("name", "quantity", "evidence")},
        "nodes": STRINGS,
        **{key: _optional("number") for key in ("score", "slowdown")},
    }
)
FINDING_KEYS = tuple(FINDING["properties"])

# What a check measured; twice when it was measured again in the same allocation.
MEASURED: Schema = {
    "perfvalues": {"type": ["object", "null"], "additionalProperties": PERFVALUE},
    "curves": _map(
        _object(
            {
                **{key: STRING for key in ("x", "x_unit", "y", "y_unit")},
                "points": _list({"type": "array", "prefixItems": [NUMBER, NUMBER], "minItems": 2, "maxItems": 2}),
            },
            {"gated": _map(STRING)},
        )
    ),
    "heat_maps": _map(
        _object(
            {
                **{key: STRING for key in HEAT_MAP_TITLES},
                "points": _list({"type": "array", "prefixItems": [NUMBER] * 3, "minItems": 3, "maxItems": 3}),
            }
        )
    ),
    "per_node": _map(_object({"unit": STRING, "values": _map(NUMBER)})),
    # The loader looks at the values: a schema takes seconds for a million of them.
    "matrices": _map(_object({"unit": STRING, "nodes": {**STRINGS, "uniqueItems": True}, "values": LIST})),
    "findings": _list(FINDING),
    "suspects": STRINGS,
    "hint": STRING,
}

# What Kappa's base class adds to a test case.
KAPPA_CASE = _object(
    {"check_class": STRING},
    {
        "family": STRING,
        **{key: STRING for key in VARIANT_KEYS},
        "informational": STRINGS,
        "declared_metrics": STRINGS,
        "reference_sources": _map(
            _object({"source": STRING, "date": STRING, "samples": {"type": "integer"}, "method": STRING})
        ),
        "reference_problem": STRING,
        "reference_file": STRING,
        "partition_size": {"type": "integer"},
        "scaling": {"anyOf": [{"const": {}}, SCALING]},
        "provenance": {"type": "object", "properties": {"files": _map(STRING), "nodelist": STRINGS}},
        **MEASURED,
        "first_measurement": {"anyOf": [{"const": {}}, _object({"perfvalues": MEASURED["perfvalues"]}, MEASURED)]},
        "census": {"anyOf": [{"const": {}}, CENSUS]},
    },
)

CASE: Schema = {
    **_object(
        {"name": STRING, "system": STRING, "partition": _optional("string"), "result": STRING},
        {
            "environ": _optional("string"),
            "hashcode": STRING,
            "display_name": STRING,
            "local": BOOLEAN,
            "fail_phase": _optional("string"),
            "fail_reason": _optional("string"),
            "fail_info": _optional("object"),
            "job_nodelist": {"type": ["array", "null"], "items": STRING},
            "jobid": {"type": ["string", "integer", "null"]},
            "job_stdout": _optional("string"),
            "outputdir": _optional("string"),
            "stagedir": _optional("string"),
            "time_run": _optional("number"),
            "perfvalues": MEASURED["perfvalues"],
        },
    ),
    "if": {"required": ["check_class"]},
    "then": KAPPA_CASE,
}

SESSION_STRINGS = (
    "uuid", "hostname", "user", "version", "time_start", "cmdline", "mode", "confirms", "purpose", "nodes",
)  # fmt: skip
REPORT = _object(
    {
        "session_info": _object(
            {},
            {key: _optional("string") for key in SESSION_STRINGS} | {"time_elapsed": _optional("number")},
        ),
        "runs": _list(_object({"testcases": _list(CASE)})),
    },
    {"restored_cases": {"type": "array"}},
)

# Read by the thousand.
_COMPILED = {id(REPORT): jsonschema_rs.Draft202012Validator(REPORT)}


def check(document: Any, schema: Schema, source: str) -> None:
    """Hold a parsed file against its schema.

    :raises InputError: names ``source``, the key that does not fit, and what was expected there.
    """
    # Lone surrogates are beyond the fast one.
    with contextlib.suppress(UnicodeEncodeError):
        if (_COMPILED.get(id(schema)) or jsonschema_rs.Draft202012Validator(schema)).is_valid(document):
            return
    # A hundred times slower, but its errors say what was expected.
    error = best_match(jsonschema.Draft202012Validator(schema).iter_errors(document))
    if error is not None:
        where = error.json_path.removeprefix("$").removeprefix(".") or "the document"
        raise InputError(f"{source}: {clean(where)}: {_explain(error)}")


def _explain(error: Any) -> str:
    found = clean(reprlib.repr(error.instance))
    if error.validator == "type":
        expected = error.validator_value
        return f"expected {expected if isinstance(expected, str) else ' or '.join(expected)}, found {found}"
    return one_line(clean(error.message), 300)
