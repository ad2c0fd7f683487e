"""Peaks by the processor's model: a healthy node of any of them must not fail against half of its peak."""

import pytest

from kappa.app.survey.hardware import peak
from kappa.app.survey.probe import parse
from kappa.app.survey.theory import references
from tests.unit.survey.clusters import one_node, probe
from tests.unit.survey.national_centre import FIELD

FLAGS = "fma avx avx2 avx512f"


def lscpu(model, family, number, vendor="GenuineIntel", flags=FLAGS, **more):
    lines = {"Architecture": "x86_64", "Vendor ID": vendor, "Model name": model, "CPU family": family,
             "Model": number, "Flags": flags, **more}  # fmt: skip
    return parse(probe("NAME", facts={"site.processor": [[key, str(value)] for key, value in lines.items()]}))


def xeon(name, ghz, number=85):
    return lscpu(f"Intel(R) Xeon(R) {name} CPU @ {ghz}GHz", 6, number)


def epyc(name, family, number):
    return lscpu(f"AMD EPYC {name} Processor", family, number, "AuthenticAMD", "fma avx2", BogoMIPS="4900.00")


def arm(name, firmware="", **more):
    return lscpu(name, "", 1, "ARM", "asimd sve", **{"Architecture": "aarch64", "BIOS Model name": firmware, **more})


def test_a_xeon_silver_as_published_has_one_unit():
    published = (FIELD / "19-lscpu-silver-4114.txt").read_text().splitlines()
    lines = [[word.strip() for word in line.split(":", 1)] for line in published if ":" in line]
    found = peak(parse(probe("NAME", facts={"site.processor": lines})))
    assert (found.flop, found.ghz, found.gflops) == (16, 0, 0)


@pytest.mark.parametrize(
    ("node_", "flop", "ghz"),
    [
        (xeon("Bronze 3106", 1.70), 16, 0),
        (xeon("Silver 4110", 2.10), 16, 0),
        (xeon("Silver 4210R", 2.40), 16, 0),
        (xeon("Gold 5118", 2.30), 16, 0),
        (xeon("Gold 5218", 2.30), 16, 0),
        (xeon("Gold 5122", 3.60), 32, 0),
        (xeon("Gold 5222", 3.80), 32, 0),
        (xeon("Gold 6148", 2.40), 32, 0),
        (xeon("Gold 6230", 2.10), 32, 0),
        (xeon("Platinum 8160", 2.10), 32, 0),
        (xeon("Platinum 8280L", 2.70), 32, 0),
        (xeon("Platinum 9242", 2.30), 32, 0),
        (xeon("Platinum 8380H", 2.90), 32, 0),
        (xeon("Silver 4314", 2.40, 106), 32, 2.4),
        (xeon("Platinum 8380", 2.30, 106), 32, 2.3),
        (lscpu("INTEL(R) XEON(R) PLATINUM 8480+", 6, 143, BogoMIPS="4000.00"), 32, 2.0),
        (lscpu("Intel(R) Xeon(R) CPU Max 9480", 6, 143, BogoMIPS="3800.00"), 32, 1.9),
        (lscpu("Intel(R) Xeon(R) Bronze 3408U", 6, 143, BogoMIPS="3600.00"), 16, 1.8),
        (lscpu("Intel(R) Xeon(R) Bronze 3508U", 6, 207, BogoMIPS="4200.00"), 0, 0),
        (lscpu("INTEL(R) XEON(R) SILVER 4514Y", 6, 207, BogoMIPS="4000.00"), 32, 2.0),
        (lscpu("Intel(R) Xeon(R) 6787P", 6, 173, BogoMIPS="4000.00"), 32, 2.0),
        (lscpu("Intel(R) Xeon(R) 6780E", 6, 175, BogoMIPS="4400.00"), 0, 0),
        (lscpu("Intel(R) Xeon Phi(TM) CPU 7250 @ 1.40GHz", 6, 87), 32, 0),
        (lscpu("Intel(R) Xeon(R) W-2123 CPU @ 3.60GHz", 6, 85), 0, 0),
        (lscpu("Intel(R) Xeon(R) CPU E5-2690 v4 @ 2.60GHz", 6, 79, flags="fma avx2 avx"), 16, 2.6),
        (lscpu("Intel(R) Xeon(R) CPU E5-2680 v2 @ 2.80GHz", 6, 62, flags="avx"), 8, 2.8),
        (lscpu("Intel(R) Xeon(R) CPU X5650 @ 2.67GHz", 6, 44, flags="sse4_2"), 4, 2.67),
        (lscpu("Intel(R) Xeon(R) Platinum 8370C CPU @ 2.80GHz", 6, 106, flags="fma avx avx2"), 16, 2.8),
        (epyc("7601 32-Core", 23, 1), 8, 2.45),
        (epyc("7742 64-Core", 23, 49), 16, 2.45),
        (epyc("7763 64-Core", 25, 1), 16, 2.45),
        (epyc("9654 96-Core", 25, 17), 16, 2.45),
        (epyc("9755 128-Core", 26, 2), 32, 2.45),
        (epyc("9965 192-Core", 26, 17), 32, 2.45),
        (lscpu("AMD Ryzen AI 9 HX 370", 26, 36, "AuthenticAMD", BogoMIPS="4000.00"), 0, 0),
        (lscpu("Hygon C86 7185 32-core Processor", 24, 0, "HygonGenuine", BogoMIPS="4000.00"), 0, 0),
        (arm("Neoverse-V2", "NVIDIA Grace CPU Superchip CPU @ 3.4GHz"), 16, 3.1),
        (arm("Neoverse-V2"), 16, 0),
        (arm("Neoverse-V1", "AWS Graviton3 AWS Graviton3 CPU @ 2.6GHz"), 16, 2.6),
        (arm("Neoverse-V2", "AWS Graviton4"), 16, 2.8),
        (arm("Neoverse-N1", "AWS Graviton2 AWS Graviton2 CPU @ 2.5GHz"), 8, 2.5),
        (arm("Neoverse-N1", "Ampere(R) Altra(R) Max Processor M128-30 CPU @ 3.0GHz"), 8, 3.0),
        (arm("A64FX", **{"CPU max MHz": "2200.0000"}), 32, 2.2),
        (arm("A64FX"), 32, 0),
        (arm("Kunpeng-920"), 0, 0),
        (lscpu("POWER9, altivec supported", "", "2.2 (pvr 004e 1202)", "", "", **{"Thread(s) per core": "4"}), 8, 0),
        (lscpu("POWER9, altivec supported", "", "2.2 (pvr 004e 1202)", "", "", **{"Thread(s) per core": "8"}), 0, 0),
        (lscpu("QEMU Virtual CPU version 2.5+", 15, 107), 0, 0),
    ],
)  # fmt: skip
def test_operations_a_cycle_and_the_clock_that_holds_for_them(node_, flop, ghz):
    found = peak(node_)
    assert (found.flop, found.ghz) == (flop, ghz)
    assert found.why and found.gflops == round(flop * ghz, 1)


@pytest.mark.parametrize(
    ("model", "number", "has"),
    [
        ("Intel(R) Xeon(R) Silver 4210R CPU @ 2.40GHz", 85, False),
        ("Intel(R) Xeon(R) Gold 6330 CPU @ 2.00GHz", 106, True),
    ],
)
def test_without_a_peak_the_site_asks_for_it_and_there_is_no_reference(model, number, has):
    text = probe("NAME").replace("Intel(R) Xeon(R) CPU @ 2.00GHz", model)
    text = text.replace('["Model", "106"]', f'["Model", "{number}"]')
    found = one_node(text)
    told = found.parts["batch"].told
    assert bool(told.peak_gflops_per_core) == has
    assert has or model in told.peak_why
    assert any(one.metric == "fraction_of_peak" for one in references("made", found)) == has
