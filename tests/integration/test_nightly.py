"""Nights on the embedded cluster: a fault is named, a cut leaves a partial verdict, two never run at once."""

import json
import subprocess
import time

from .conftest import SITE

FAIL, INCOMPLETE, BUSY = 1, 2, 75
QUICK = ("-S", "NodeLinks.iterations=3", "-S", "NodeLinks.repeats_per_link=1")


def start(suite, night, *options):
    return subprocess.Popen(
        [SITE / "nightly", "--mode=links", "--nights=0", f"--night={night}", *options],
        env=suite.environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def logs(suite, earlier):
    return [log for log in suite.results.glob("nights/*/night.log") if log.parent not in earlier]


def test_a_slow_link_is_named_in_the_message(suite):
    limit = ["add", "dev", "eth0", "root", "tbf", "rate", "200mbit", "burst", "70000", "latency", "50ms"]
    suite.cluster("exec", "node2", "tc", "qdisc", *limit)
    try:
        night = start(suite, "2026-11-15", "--", *QUICK)
        said, _ = night.communicate(timeout=300)
    finally:
        suite.cluster("exec", "node2", "tc", "qdisc", "del", "dev", "eth0", "root")
    assert night.returncode == FAIL, said
    outputs = suite.results / "nightly"
    message = (outputs / "message.md").read_text()
    assert "**First:** Look at node2" in message
    assert "new suspect: **node2**" in message
    assert 'class="night fail last"' in (outputs / "index.html").read_text()
    assert 'kappa_node_suspect{node="node2",site="embedded"}' in (outputs / "embedded.prom").read_text()
    assert "node2" in (outputs / "junit.xml").read_text()


def test_a_cut_night_is_incomplete_and_no_second_runs_beside_it(suite):
    earlier = set(suite.results.glob("nights/*"))
    night = start(suite, "2026-11-16", "--", *QUICK)
    try:
        deadline = time.monotonic() + 120
        while not any("RUN" in log.read_text() for log in logs(suite, earlier)):
            assert time.monotonic() < deadline, "the night did not start"
            time.sleep(0.2)
        second = start(suite, "2026-11-16")
        said, _ = second.communicate(timeout=60)
        assert second.returncode == BUSY, said
        assert "another night is running" in said
    finally:
        night.terminate()
    said, _ = night.communicate(timeout=180)
    assert night.returncode == INCOMPLETE, said
    record = json.loads(sorted(suite.results.glob("nights/*/night.json"))[-1].read_text())
    assert record["cut"] == "stopped by SIGTERM"
    assert "did not come to its end" in (suite.results / "nightly/message.md").read_text()
    assert suite.cluster("exec", "login", "squeue", "--noheader").stdout.strip() == ""
