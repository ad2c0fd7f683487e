"""An ingest that is killed at any moment: each session is in the history as a whole or not at all, and once."""

import collections
import pathlib
import random
from functools import partial

from kappa.app.command.main import main
from reports.history import dataset, ingest
from tests.killing import in_child, seconds
from tests.tiers import few_or_many
from tests.unit.history.nights import night, rows, write
from tests.unit.reports.samples import latency

NIGHTS = 12
# Values of a night, and of the batches in which they are written. Six batches make seven writes, because one batch
# ends a month and begins another.
VALUES, BATCH, FIRST = 3, 6, 7


def expected():
    return {f"night-{number}": [number + part / 10 for part in range(VALUES)] for number in range(NIGHTS)}


def stored(history):
    """Session -> its values."""
    found = collections.defaultdict(list)
    for row in rows(history):
        found[row["session"]].append(row["value"])
    return {session: sorted(values) for session, values in found.items()}


def ingest_all(site):
    # A site has a folder of its own, or results that it left.
    pathlib.Path("results", site).mkdir(parents=True, exist_ok=True)
    assert main(["history", site, "--add", "runs"]) == 0


@few_or_many("least", 10, 100)
def test_killed_at_random_points(tmp_path, monkeypatch, least):
    (tmp_path / "site_configs").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ingest, "_BATCH", BATCH)
    for number, (session, values) in enumerate(expected().items()):
        cases = [{**latency(value=value), "name": f"OsuLatency %placement={part}"} for part, value in enumerate(values)]
        write(tmp_path / "runs", number, night(FIRST + number, cases, uuid=session))
    # Load here the modules that the first use would load, and not in each child.
    ingest_all("whole")
    assert stored(tmp_path / "results/whole/history") == expected()
    assert len(dataset.files(tmp_path / "results/whole/history")) == 2
    whole_s = min(seconds(partial(ingest_all, f"timed-{turn}")) for turn in range(3))

    draw = random.Random(13)
    kills = rounds = between = 0
    left = []
    while kills < least or (not (left and between) and rounds < 1000):
        rounds += 1
        site = f"round-{rounds}"
        done = {}
        while len(done) < NIGHTS:
            kills += not in_child(partial(ingest_all, site), draw.uniform(0, whole_s))
            now = stored(tmp_path / "results" / site / "history")
            assert now.items() >= done.items(), "a session was lost"
            assert now.items() <= expected().items(), "a session is there in part or twice"
            between += len(done) < len(now) < NIGHTS
            done = now
        left = [path.name for path in tmp_path.glob("results/*/history/month=*/*") if path.name != dataset.FILE]
    ingest_all(site)
    assert stored(tmp_path / "results" / site / "history") == expected()
    assert left, "no kill fell into a write"
    assert between, "no kill fell between two writes"
    assert all(name.startswith(".") and name.endswith(".part") for name in left)
    print(f"ingest of {whole_s:.3f} s: {kills} kills, {between} between two writes, {len(left)} in a write")
