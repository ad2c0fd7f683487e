"""The simulator's own unit tests: closed forms, lattice diagrams, orders of accuracy, steady state, case rules."""

from .conftest import Emt


def test_unit_tests_pass(emt: Emt) -> None:
    emt.unit_tests()
