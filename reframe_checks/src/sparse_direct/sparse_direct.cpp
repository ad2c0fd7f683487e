// Problem: -laplace(u) + b du/dx = f in a cube of edge x edge x edge points, zero around it; central differences of second order,
// upwind for b, so that the matrix is not symmetric. In units of 1/h^2, with b h = `kWind`, a row is
//
//     (6 + w) u(x,y,z) - (1 + w) u(x-1,y,z) - u(x+1,y,z) - u(x,y-1,z) - u(x,y+1,z) - u(x,y,z-1) - u(x,y,z+1) = f(x,y,z)
//
// f is A u* of a known u*. Solver: MUMPS (Amestoy et al. 2001), multifrontal LU; each rank has the rows of a slab. The
// analysis runs once. Each step is then a numerical factorisation and a solution; the slowest rank's time counts.
//
// A correct result has a backward error |f - A u| / (|A| |u| + |f|) in the maximum norm of some units of the last place
// (Oettli and Prager 1964). Then u differs from u* by that times the condition of A, which is of the order of edge^2.

#include "sparse_direct/sparse_direct.hpp"

#include <dmumps_c.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace measure::sparse_direct {
namespace {

constexpr double kWind = 0.5;
// MUMPS' job numbers, its own handle of the world, and numbers of its control parameters (Users' guide 5.5, section 5).
constexpr int kStart = -1, kEnd = -2, kAnalyse = 1, kFactorise = 2, kSolve = 3, kWorld = -987654;
constexpr int kMessages = 4, kDistributed = 18, kMoreMemory = 14;

struct Grid {
    int edge;

    [[nodiscard]] int size() const { return edge * edge * edge; }
    [[nodiscard]] static double exact(int row) { return 1 + row % 13 / 13.0; }

    // Calls visit(column, value) for each entry of a row.
    template <typename Visit>
    void row(int number, const Visit& visit) const {
        const int plane = edge * edge;
        const int x = number % edge, y = number / edge % edge, z = number / plane;
        visit(number, 6 + kWind);
        if (x > 0) visit(number - 1, -1 - kWind);
        if (x < edge - 1) visit(number + 1, -1.0);
        if (y > 0) visit(number - edge, -1.0);
        if (y < edge - 1) visit(number + edge, -1.0);
        if (z > 0) visit(number - plane, -1.0);
        if (z < edge - 1) visit(number + plane, -1.0);
    }
    [[nodiscard]] double times(int number, const std::vector<double>& u) const {
        double sum = 0;
        row(number, [&](int column, double value) { sum += value * u[static_cast<std::size_t>(column)]; });
        return sum;
    }
};

class Solver {
  public:
    Solver(const World& world, const Grid& grid) : world_(world), grid_(grid) {
        data_.par = 1;
        data_.sym = 0;
        data_.comm_fortran = kWorld;
        run(kStart, "start");
        data_.icntl[kMessages - 1] = 0;
        data_.icntl[kDistributed - 1] = 3;
        data_.icntl[kMoreMemory - 1] = 100;  // percent beyond the estimate, because pivoting may need more
        const auto first = [&](int rank) { return static_cast<int>(static_cast<long>(grid.size()) * rank / world.size()); };
        for (int number = first(world.rank()); number < first(world.rank() + 1); ++number) {
            grid.row(number, [&](int column, double value) {
                rows_.push_back(number + 1);
                columns_.push_back(column + 1);
                values_.push_back(value);
            });
        }
        data_.n = grid.size();
        data_.nnz_loc = static_cast<MUMPS_INT8>(values_.size());
        data_.irn_loc = rows_.data();
        data_.jcn_loc = columns_.data();
        data_.a_loc = values_.data();
    }
    ~Solver() {
        data_.job = kEnd;
        dmumps_c(&data_);
    }
    Solver(const Solver&) = delete;
    Solver& operator=(const Solver&) = delete;

    void analyse() { run(kAnalyse, "analysis"); }

    // Times of the slowest rank, in ns: factorisation, solution.
    std::pair<long, long> step() {
        if (world_.rank() == 0) {
            solution_.resize(static_cast<std::size_t>(grid_.size()));
            std::vector<double> exact(solution_.size());
            for (int row = 0; row < grid_.size(); ++row) exact[static_cast<std::size_t>(row)] = Grid::exact(row);
            for (int row = 0; row < grid_.size(); ++row) solution_[static_cast<std::size_t>(row)] = grid_.times(row, exact);
            data_.rhs = solution_.data();
        }
        const long factorised = timed(kFactorise, "factorisation");
        return {factorised, timed(kSolve, "solution")};
    }

    // Largest backward error and largest error of a row, on rank 0.
    [[nodiscard]] std::pair<double, double> errors() const {
        double residual = 0, most_f = 0, most_u = 0, error = 0;
        for (int row = 0; row < grid_.size(); ++row) {
            double f = 0;
            grid_.row(row, [&](int column, double value) { f += value * Grid::exact(column); });
            residual = std::max(residual, std::abs(f - grid_.times(row, solution_)));
            most_f = std::max(most_f, std::abs(f));
            most_u = std::max(most_u, std::abs(solution_[static_cast<std::size_t>(row)]));
            error = std::max(error, std::abs(solution_[static_cast<std::size_t>(row)] - Grid::exact(row)));
        }
        return {residual / (2 * (6 + kWind) * most_u + most_f), error};
    }

    // Entries of the factors, and floating-point operations of the elimination, over all ranks.
    [[nodiscard]] double factor_entries() const { return data_.infog[28] >= 0 ? data_.infog[28] : -1e6 * data_.infog[28]; }
    [[nodiscard]] double factor_flop() const { return data_.rinfog[2]; }

  private:
    void run(int job, const char* what) {
        heartbeat::phase(0, what);
        data_.job = job;
        dmumps_c(&data_);
        if (data_.infog[0] < 0) {
            throw std::runtime_error(std::string(what) + ": MUMPS says INFOG(1) = " + std::to_string(data_.infog[0]) + ", INFOG(2) = " + std::to_string(data_.infog[1]));
        }
    }
    long timed(int job, const char* what) {
        world_.barrier();
        const double began = MPI_Wtime();
        run(job, what);
        double took_s = MPI_Wtime() - began;
        MPI_Allreduce(MPI_IN_PLACE, &took_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        return std::lround(1e9 * took_s);
    }

    const World& world_;
    Grid grid_;
    DMUMPS_STRUC_C data_{};
    std::vector<MUMPS_INT> rows_, columns_;
    std::vector<double> values_, solution_;
};

}  // namespace

void measure(const Run& run, const Settings& settings) {
    const World& world = run.world();
    const Grid grid{settings.edge};
    Solver solver(world, grid);
    solver.analyse();
    std::vector<long> factor_ns, solve_ns;
    long total_ns = 0;
    double residual = 0, error = 0;
    for (int step = 0; step < settings.steps; ++step) {
        const auto [factorised, solved] = solver.step();
        factor_ns.push_back(factorised);
        solve_ns.push_back(solved);
        total_ns += factorised + solved;
        if (world.rank() == 0) {
            const auto [one_residual, one_error] = solver.errors();
            // A maximum would skip a value that is not a number.
            residual = one_residual <= residual ? residual : one_residual;
            error = one_error <= error ? error : one_error;
        }
    }
    run.write({{"solver", MUMPS_VERSION},
               {"edge", settings.edge},
               {"unknowns", grid.size()},
               {"steps", settings.steps},
               {"factor_ns", factor_ns},
               {"solve_ns", solve_ns},
               {"total_ns", total_ns},
               {"factor_entries", solver.factor_entries()},
               {"factor_flop", rounded(solver.factor_flop())},
               {"backward_error", rounded(residual)},
               {"error", rounded(error)}});
}

}  // namespace measure::sparse_direct
