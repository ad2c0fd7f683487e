"""Every parser on recorded output with one line or figure damaged, dropped, doubled, exchanged or absurdly high.

It gives a clear error or the same values, never others and never a crash. One kind is exempt: a figure or a name that
became another plausible one, if nothing else in the output depends on it. Each case lists these (``alone``).

A long output gets 800 mutations, always the same: 10 s for all parsers together on one core, and 45 s with all of them
(KAPPA_EVERY_MUTATION=1).
"""

import os
import pkgutil
import random

import pytest

import reframe_checks.parsers
from tests.unit.parsers.cases import CASES, MAY_BE_EMPTY
from tests.unit.parsers.damage import leaves
from tests.unit.parsers.misread import misread, without_indices
from tests.unit.parsers.mutation import mutations

ALL = CASES | MAY_BE_EMPTY
EVERY = bool(os.environ.get("KAPPA_EVERY_MUTATION"))
MOST = 800
#: Modules that parse no program's output by themselves: what parsers have in common.
SHARED = {"foreign_lines", "ior_text", "json_reader", "text"}


@pytest.mark.parametrize("name", ALL)
def test_a_mutated_output_is_refused_or_read_as_before(recorded, name):
    case = ALL[name]
    whole = recorded(case.file)
    chosen = list(mutations(whole))
    sampled = len(chosen) > MOST and not EVERY
    if sampled:
        chosen = random.Random(0).sample(chosen, MOST)
    complaints, changed = misread(case, whole, chosen)
    assert not complaints, "\n".join([f"{len(complaints)} of {len(chosen)} mutations are misread:", *complaints[:20]])
    stale = set(case.alone) - changed
    assert sampled or not stale, f"confirmed by a second figure, so no longer to be listed as alone: {stale}"


@pytest.mark.parametrize("name", ALL)
def test_what_stands_alone_is_in_the_result(recorded, name):
    case = ALL[name]
    assert {*case.alone, *case.boundless} <= {
        without_indices(path) for path, _ in leaves(case.parse(recorded(case.file)))
    }


def test_every_parser_has_a_recorded_output():
    modules = {module.name for module in pkgutil.iter_modules(reframe_checks.parsers.__path__)}
    parsers = [getattr(case.parse, "func", case.parse) for case in CASES.values()]
    # A structure that reads itself is a parser, too.
    tested = {getattr(parse, "__self__", parse).__module__.rpartition(".")[2] for parse in parsers}
    missing = modules - SHARED - tested
    assert not missing, f"no case in tests/unit/parsers/cases.py for the parsers {', '.join(sorted(missing))}"
