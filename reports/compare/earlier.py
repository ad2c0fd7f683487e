"""The runs before a run, in the same folder of runs: the last one, and how much each figure varied between them."""

import pathlib
from collections.abc import Iterator
from dataclasses import dataclass

from kappa.core.ground.errors import InputError
from kappa.core.record.load import find_report
from reports.compare.change import Change, Noise, change, noise_of
from reports.compare.figures import Place, RunFigures, Sample, figures_of

# A page shall not wait for a year of reports.
RUNS, BYTES = 8, 64 << 20
_FOLDERS = ("runs", "nights")


@dataclass(frozen=True)
class Past:
    """``runs`` of the same site and mode, the last first."""

    runs: tuple[RunFigures, ...]

    @property
    def last(self) -> RunFigures | None:
        return self.runs[0] if self.runs else None

    def noise(self, place: Place) -> Noise | None:
        """Between runs, from the first value of each."""
        return noise_of([run.samples[place][0].value for run in self.runs if place in run.samples])

    def before(self, place: Place, now: list[Sample]) -> tuple[list[Sample], Change | None]:
        """The last run's values, of the same nodes where it has them all, and the change from them."""
        found = self.last.samples.get(place, []) if self.last else []
        nodes = {sample.nodes for sample in now}
        same = [sample for sample in found if sample.nodes in nodes]
        found = same if len(same) >= len(now) else found
        return found, change(found, now, self.noise(place))


NO_PAST = Past(())


def past_of(run: pathlib.Path) -> Past:
    """What is kept of the runs before ``run``; one that cannot be read is passed over, as it judges nothing."""
    path = find_report(run).absolute()
    if path.parent.parent.name not in _FOLDERS:
        return NO_PAST
    now = figures_of(path)
    return Past(tuple(_alike(now, _before(path))))


def _before(path: pathlib.Path) -> Iterator[pathlib.Path]:
    """Reports of the folders beside that of ``path``, which are named by their time."""
    read = 0
    for folder in sorted(path.parent.parent.iterdir(), reverse=True):
        other = folder / path.name
        if folder.name < path.parent.name and other.is_file():
            read += other.stat().st_size
            yield other
            if read > BYTES:
                return


def _alike(now: RunFigures, paths: Iterator[pathlib.Path]) -> Iterator[RunFigures]:
    found = 0
    for path in paths:
        try:
            run = figures_of(path)
        except InputError:
            continue
        if (run.site, run.mode) == (now.site, now.mode) and run.started <= now.started:
            yield run
            found += 1
            if found == RUNS:
                return
