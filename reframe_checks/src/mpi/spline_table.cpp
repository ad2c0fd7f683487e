// A table of splines that a node holds once, in a shared window, compared with a copy in each rank.
//
// The table holds pieces of a cubic spline, four coefficients each. A pass evaluates all, c0 + x (c1 + x (c2 + x c3))
// at x = 1/2. Coefficients are small multiples of 8, so the sum of a pass is exact and known. Memory: Pss of all ranks
// (a page that n processes share counts 1/n for each) after a pass, less the Pss before the table. Time of a pass: of
// the slowest rank.

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <stdexcept>

#include "mpi/measurements.hpp"
#include "mpi/shared_memory.hpp"

namespace measure::mpi {
namespace {

constexpr int kOwner = 0;

struct Piece {
    double c0, c1, c2, c3;
};

Piece piece(std::size_t number) {
    const double value = 8 * (1 + static_cast<double>(number % 7));
    return {value, value, value, value};
}

void make(Piece* table, std::size_t pieces) {
    for (std::size_t i = 0; i < pieces; ++i) {
        table[i] = piece(i);
    }
}

double evaluated(const Piece* table, std::size_t pieces) {
    constexpr double kX = 0.5;
    // Several sums, since a single one would wait for each addition; the table's size is a multiple of their number.
    std::array<double, 8> sums{};
    for (std::size_t i = 0; i < pieces; i += sums.size()) {
        for (std::size_t j = 0; j < sums.size(); ++j) {
            const Piece& p = table[i + j];
            sums[j] += p.c0 + kX * (p.c1 + kX * (p.c2 + kX * p.c3));
        }
    }
    return std::accumulate(sums.begin(), sums.end(), 0.0);
}

// Sum over all ranks, on all of them.
double total_memory_kib() {
    MPI_Barrier(MPI_COMM_WORLD);
    double own = memory_kib();
    double all = 0;
    MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

// Makes passes over a table. Returns its memory, MiB, and the time of a pass in each repeat, µs.
json passes(const Run& run, const char* what, const Piece* table, std::size_t pieces, double before_kib) {
    double expected = 0;
    for (std::size_t i = 0; i < pieces; ++i) {
        expected += 1.875 * piece(i).c0;
    }
    constexpr int kPasses = 3;
    Medians medians(1);
    double kib = 0;
    for (int repeat = 0; repeat < run.options().repeats; ++repeat) {
        run.waits_for(what);
        for (int pass = 0; pass < kPasses; ++pass) {
            MPI_Barrier(MPI_COMM_WORLD);
            const double start = now();
            const double sum = evaluated(table, pieces);
            const double seconds = now() - start;
            if (sum != expected) {
                throw std::runtime_error(std::string("wrong payload: the sum over ") + what);
            }
            medians.add(0, of_slowest(seconds));
        }
        medians.end_of_repeat();
        if (repeat == 0) {
            kib = total_memory_kib() - before_kib;
        }
    }
    return {{"MiB", rounded(std::max(kib, 1.0) / 1024)}, {"pass_us", medians[0]}};
}

}  // namespace

json splines(const Run& run, int mib) {
    const std::size_t pieces = (static_cast<std::size_t>(mib) << 20U) / sizeof(Piece);
    json found = {{"table_MiB", mib}};
    {
        const double before_kib = total_memory_kib();
        const SharedMemory window(run.rank() == kOwner ? pieces * sizeof(Piece) : 0);
        auto* const table = reinterpret_cast<Piece*>(window.of(kOwner));
        if (run.rank() == kOwner) {
            make(table, pieces);
        }
        window.sync();
        MPI_Barrier(MPI_COMM_WORLD);
        window.sync();
        found["shared"] = passes(run, "the table that all share", table, pieces, before_kib);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    const double before_kib = total_memory_kib();
    const auto table = std::make_unique_for_overwrite<Piece[]>(pieces);
    make(table.get(), pieces);
    found["copies"] = passes(run, "the table of each rank", table.get(), pieces, before_kib);
    return found;
}

}  // namespace measure::mpi
