"""The two tiers of tests: ``make test`` runs one, ``make test-long`` the tests with the mark ``long``."""

import pytest

long = pytest.mark.long


def few_or_many(name: str, few: int, many: int) -> pytest.MarkDecorator:
    """Parametrizes a test that repeats something: ``few`` times in ``make test``, ``many`` in ``make test-long``."""
    return pytest.mark.parametrize(name, [few, pytest.param(many, marks=long)])
