"""A plug-in for benchmarks whose rules say when a result is valid."""

import reframe as rfm
from reframe.core.exceptions import SanityError


class Rated(rfm.RegressionTestPlugin):
    """``rules`` names them. A check with ``must_be_valid`` fails unless its result is valid; one without, a short form,
    says with its result what it lacks, and is never a rating."""

    rules = ""
    must_be_valid = True

    def judge_by_rules(self, broken):
        """For use in sanity functions.

        :param broken: what of the rules is, as texts.
        """
        self.validity = f"valid by {self.rules}"
        if broken:
            self.validity = f"not a valid result by {self.rules}: {'; '.join(broken)}"
            if self.must_be_valid:
                raise SanityError(self.validity)
