import pytest

from reframe_checks.parsers import slurm
from reframe_checks.parsers.text import ParseError

SOUND = "NodeName=n1 CPUTot=64 RealMemory=257000 State=IDLE"


def test_what_slurm_believes_of_the_embedded_nodes(recorded):
    found = slurm.node_facts(
        recorded("survey/embedded-node.txt"), expect_nodes=[f"node{number}" for number in range(1, 5)]
    )
    assert found["node4"] == {"slurm.cpus": 2, "slurm.memory_mib": 24105, "slurm.power_w": None}


@pytest.mark.parametrize(
    ("watts", "power"),
    [
        ("", None),
        (" CurrentWatts=n/s", None),
        (" CurrentWatts=n/a AveWatts=9", None),
        (" CurrentWatts=0 AveWatts=0", None),
        (" CurrentWatts=412 AveWatts=9", 412),
    ],
)
def test_power_where_slurm_accounts_for_it(watts, power):
    assert slurm.node_facts(f"{SOUND}{watts}\n", expect_nodes=["n1"])["n1"]["slurm.power_w"] == power


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "output, found none"),
        ("slurm_load_node error: Unable to contact slurm controller\n", "NodeName=NAME first"),
        (f"{SOUND}\n{SOUND}\n", "one line for n1"),
        (f"{SOUND}\n{SOUND.replace('n1', 'n2')}\n", "no others, this differs in n2"),
        (f"{SOUND.replace('CPUTot', 'CPUs')}\n", "CPUTot=NUMBER"),
        (f"{SOUND.replace('257000', 'n/a')}\n", "RealMemory=NUMBER"),
        (f"{SOUND} CurrentWatts=4294967294\n", "CurrentWatts above 0 and at most 1000000 W, found 4294967294"),
    ],
)
def test_anything_else_is_refused(text, expected):
    with pytest.raises(ParseError, match=expected):
        slurm.node_facts(text, expect_nodes=["n1"])
