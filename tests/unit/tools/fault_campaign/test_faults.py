"""A fault flips only memory that `kappa-measure bits` walks through: other flips end the program without a suspect."""

import subprocess

from tests.fault_campaign.faults import SOURCES
from tests.waiting import PATIENCE_S

# A piece as `bits` has it beside a larger one as MPI's, then pieces that come and go meanwhile.
PROGRAM = """
#include <sys/mman.h>
#include <unistd.h>
#include <cstdint>
#include <cstdio>
#include <vector>
long flipped(const std::uint64_t* words, std::size_t count) {
    long found = 0;
    for (std::size_t i = 0; i < count; ++i) found += words[i] != 0;
    return found;
}
int main() {
    constexpr std::size_t kOwn = (16 << 20) / 8, kOther = (64 << 20) / 8;
    const int kind = MAP_PRIVATE | MAP_ANONYMOUS;
    auto* other = static_cast<std::uint64_t*>(mmap(nullptr, 8 * kOther, PROT_READ | PROT_WRITE, kind, -1, 0));
    std::vector<std::uint64_t> own(kOwn), small(1 << 16);
    usleep(300000);
    std::printf("%d %ld", flipped(own.data(), kOwn) > 0, flipped(other, kOther) + flipped(small.data(), small.size()));
    for (int i = 0; i < 20; ++i) std::vector<std::uint64_t> again(kOwn);
}
"""


def test_flips_hit_its_own_memory_and_nothing_else(tmp_path):
    (tmp_path / "program.cpp").write_text(PROGRAM)
    library, program = tmp_path / "fault.so", tmp_path / "kappa-measure"
    source, options = SOURCES / "flipping_memory.c", ["-O2", "-shared", "-fPIC", "-DPERIOD_MS=1", "-pthread"]
    subprocess.run(["gcc", *options, "-o", library, source], check=True)
    subprocess.run(["g++", "-O1", "-o", program, tmp_path / "program.cpp"], check=True)
    done = subprocess.run(
        [program, "bits"], env={"LD_PRELOAD": str(library)}, capture_output=True, text=True, timeout=PATIENCE_S,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "1 0")
