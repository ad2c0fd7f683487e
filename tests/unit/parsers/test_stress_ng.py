import os
import pathlib
import random
import re
import shutil
import subprocess

import pytest

from reframe_checks.base.job_files import KILLABLE, source
from reframe_checks.parsers import job_scripts
from reframe_checks.parsers.text import ParseError

SCRIPT = pathlib.Path(__file__).parents[3] / "reframe_checks/compute/src/stress_on_node.sh"
# As stress-ng 0.19 says it, published in ColinIanKing/stress-ng#546.
NEWER = """\
stress-ng: info:  [8013] dispatching hogs: 1 vm
stress-ng: fail:  [8015] elon: detected 1 memory error
info: 5 failures reached, aborting stress process
stress-ng: fail:  [8014] vm: detected 5 bit errors while stressing memory
stress-ng: error: [8013] vm: [8014] terminated with an error, exit status=2 (stressor failed)
stress-ng: info:  [8013] failed: 1: vm (1)
stress-ng: info:  [8013] unsuccessful run completed in 0 secs
"""


def test_how_it_ended_on_each_node(recorded):
    nodes = job_scripts.stressed(recorded("stress_ng/four_nodes.txt"), expect_nodes=4)
    assert sorted(nodes) == ["node1", "node2", "node3", "node4"]
    assert {told.status for told in nodes.values()} == {0}
    assert nodes["node1"].stressors == ("cpu", "vm", "matrix", "memcpy", "zlib")


def test_a_stressor_that_did_nothing_is_missing():
    assert job_scripts.stressed("@stress-ng n1 3 0 \n", expect_nodes=1)["n1"].stressors == ()


@pytest.mark.parametrize(
    "text", [2 * "@stress-ng n1 0 1 cpu\n", "@stress-ng n1 0 2 cpu\n", "@stress-ng n1 256 1 cpu\n", "stress-ng\n"]
)
def test_what_contradicts_is_an_error(text):
    with pytest.raises(ParseError):
        job_scripts.stressed(text, expect_nodes=1)


def test_a_node_that_says_nothing_is_an_error(recorded):
    with pytest.raises(ParseError, match="5 nodes"):
        job_scripts.stressed(recorded("stress_ng/four_nodes.txt"), expect_nodes=5)


def test_a_stressor_says_that_its_result_is_wrong(recorded):
    said = job_scripts.wrong_result(recorded("stress_ng/flipped_bits.log"))
    assert said == "stress-ng: fail:  [18527] cache-stripe: detected 1 memory error"
    assert job_scripts.wrong_result(NEWER) == "stress-ng: fail:  [8015] elon: detected 1 memory error"


def test_a_stressor_that_was_killed_has_computed_nothing_wrong(recorded):
    assert "unsuccessful run completed" in recorded("stress_ng/killed_stressor.log")
    assert job_scripts.wrong_result(recorded("stress_ng/killed_stressor.log")) is None


@pytest.mark.skipif(not shutil.which("stress-ng"), reason="not provided here: stress-ng")
def test_bits_that_flip_in_memory_are_seen(tmp_path):
    (tmp_path / KILLABLE).symlink_to(source(KILLABLE))
    (tmp_path / SCRIPT.name).symlink_to(SCRIPT)
    # 0.5 to 3 s, and up to 9 s on a busy machine: stress-ng gives up at the fifth wrong result.
    script = subprocess.Popen(
        ["bash", f"./{SCRIPT.name}", "vm", "6", "32"], cwd=tmp_path, env=os.environ | {"SLURMD_NODENAME": "n1"},
        text=True, stdout=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    draw = random.Random(1)
    while script.poll() is None:
        for memory, begin, end in memory_under_test(script.pid):
            flip_bits(memory, begin, end, draw)
    told = job_scripts.stressed(script.communicate()[0], expect_nodes=1)["n1"]
    assert told.status == 2
    assert "memory error" in job_scripts.wrong_result((tmp_path / "stress-ng-n1.log").read_text())


def memory_under_test(session):
    """(/proc/PID/mem, begin, end) of every large private mapping of the processes of a session: what they test."""
    listed = subprocess.run(["ps", "-e", "-o", "sess=,pid="], capture_output=True, text=True, check=True).stdout
    for process in [int(pid) for leader, pid in map(str.split, listed.splitlines()) if leader == str(session)]:
        try:
            maps = pathlib.Path(f"/proc/{process}/maps").read_text()
        except OSError:
            continue  # it has ended
        for begin, end in re.findall(r"^([0-9a-f]+)-([0-9a-f]+) rw-p", maps, re.MULTILINE):
            if int(end, 16) - int(begin, 16) >= 16 << 20:
                yield f"/proc/{process}/mem", int(begin, 16), int(end, 16)


def flip_bits(memory, begin, end, draw):
    try:
        with open(memory, "r+b", buffering=0) as file:
            for place in (draw.randrange(begin, end) for _ in range(50)):
                byte = os.pread(file.fileno(), 1, place)
                if not byte:
                    return  # it is ending
                os.pwrite(file.fileno(), bytes([byte[0] ^ 1 << draw.randrange(8)]), place)
    except PermissionError:
        pytest.skip("not provided here: writing to the memory of another process")
    except OSError:
        return  # it has ended, or mapped something else meanwhile
