"""Checks of the suite on fabrics that are made for one question: a fit, a sweep, more nodes."""

import os
import pathlib
from collections.abc import Iterable, Sequence

from kappa.app.conduct.session import Conductor, NoReportError, Session
from kappa.core.fabrics.dump import fabric_yaml
from kappa.core.fabrics.schema import Fabric
from kappa.core.ground.whole_files import make_folder, write_atomically
from kappa.core.record.load import load_session
from kappa.core.record.model import Case
from kappa.core.sites.fabric_partitions import MORE_FABRICS
from kappa.core.sites.places import SIMULATED_SITE, site_folder

REPORT = "run-report.json"


def simulate(
    fabrics: Iterable[Fabric], checks: Sequence[str], folder: pathlib.Path, conductor: Conductor
) -> dict[str, list[Case]]:
    """Run checks on fabrics that exist in no file; all is kept in ``folder``.

    :param checks: ReFrame's patterns of names.
    :returns: by fabric, the cases, each of which has passed.
    :raises InputError: one failed, or there is no simulator; as of ``Session.run``.
    """
    make_folder(folder / "fabrics")
    fabrics = list(fabrics)
    for fabric in fabrics:
        path = folder / "fabrics" / f"{fabric.name}.yaml"
        write_atomically(path, fabric_yaml(fabric, "Made for one run; see the folder's report."))
    os.environ[MORE_FABRICS] = str((folder / "fabrics").absolute())
    found: dict[str, list[Case]] = {}
    selected = [word for check in checks for word in ("-n", check)]
    for fabric in fabrics:
        conductor.say(f"simulating {', '.join(checks)} on {fabric.name}")
        report = folder / fabric.name / REPORT
        make_folder(report.parent)
        # One after the other, so that a simulation's own wall time is its own.
        options = ["-r", "--exec-policy=serial", f"--system={SIMULATED_SITE}:{fabric.name}", *selected]
        session = Session(site_folder(SIMULATED_SITE) / "settings.py", report, options)
        session.run(conductor)
        cases = [case for run in load_session(report).runs for case in run]
        failed = [case for case in cases if case.result == "fail"]
        if failed or not cases:
            why = f"{failed[0].title} failed: {failed[0].fail_reason}" if failed else "no case ran"
            raise NoReportError(f"{fabric.name}: {why}; see {session.printed}")
        found[fabric.name] = [case for case in cases if case.simulation]
    return found

