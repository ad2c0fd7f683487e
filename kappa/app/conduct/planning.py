"""The plan of a mode on a site: what ReFrame would run, by a dry run, and what it took before."""

import pathlib
from collections.abc import Iterable, Sequence
from typing import Any

from kappa.app.conduct.offers import listed, nodes_of
from kappa.app.conduct.session import Conductor
from kappa.core.record.model import Case, Session
from kappa.core.vocabulary.scales import ONE_NODE
from reports.acceptance.series import Series
from reports.plan.past import past_of
from reports.plan.plan import Offered, Plan, plan


def planned(
    site: pathlib.Path, mode: str, options: Sequence[str], sessions: Sequence[Session], conductor: Conductor
) -> Plan:
    """What ``mode`` with ReFrame's ``options`` takes, by what that took in ``sessions``; errors as of ``listed``."""
    return plan(offered(site, mode, options, conductor), past_of(sessions))


def offered(site: pathlib.Path, mode: str, options: Sequence[str], conductor: Conductor) -> list[Offered]:
    """The cases that the mode runs; errors as of ``listed``."""
    return offered_of(listed(site, [f"--mode={mode}", *options], conductor))


def offered_of(cases: Iterable[tuple[Case, dict[str, Any]]]) -> list[Offered]:
    """Those of the suite's checks among what ``listed`` gives."""
    return [
        Offered(
            series=Series.of(case),
            check=case.check_class,
            family=case.family,
            nodes=0 if case.local or entry.get("scheduler") == "local" else nodes_of(entry) or 1,
            stated_s=case.stated_s,
            stated_bytes=case.stated_bytes,
            of_one_node=ONE_NODE in entry.get("tags", ()),
            partition_nodes=int(entry.get("partition_size") or 0),
        )
        for case, entry in cases
        if case.check_class is not None
    ]
