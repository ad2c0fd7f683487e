#include "import/grid_flow.hpp"

#include <Eigen/Sparse>
#include <Eigen/SparseLU>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <utility>

#include "base/diagnostics.hpp"

namespace emt {
namespace {

constexpr double kSolved = 1e-9;           // per unit of the base
constexpr int kIterations = 30, kRounds = 50;
constexpr double kBeyond_mvar = 1e-4;      // a limit that is passed by less is kept

using Vector = Eigen::VectorXd;
using Admittance = Eigen::SparseMatrix<GridPhasor>;

std::string printed(const char* format, double x) {
    char text[64];
    std::snprintf(text, sizeof text, format, x);
    return text;
}

Admittance admittance(const Grid& grid) {
    std::vector<Eigen::Triplet<GridPhasor>> entries;
    for (const GridBranch& e : grid.branch) {
        const auto f = static_cast<int>(e.from), t = static_cast<int>(e.to);
        const GridPhasor y = 1.0 / e.impedance(), half{0, e.b / 2}, ratio = e.ratio();
        entries.emplace_back(f, f, (y + half) / std::norm(ratio));
        entries.emplace_back(f, t, -y / std::conj(ratio));
        entries.emplace_back(t, f, -y / ratio);
        entries.emplace_back(t, t, y + half);
    }
    for (std::size_t i = 0; i < grid.bus.size(); ++i) entries.emplace_back(static_cast<int>(i), static_cast<int>(i), GridPhasor(grid.bus[i].g, grid.bus[i].b) / grid.mva);
    const auto n = static_cast<Eigen::Index>(grid.bus.size());
    Admittance y(n, n);
    y.setFromTriplets(entries.begin(), entries.end());
    return y;
}

Eigen::VectorXcd voltages(const Grid& grid) {
    Eigen::VectorXcd v(static_cast<Eigen::Index>(grid.bus.size()));
    for (std::size_t i = 0; i < grid.bus.size(); ++i) v[static_cast<Eigen::Index>(i)] = grid.bus[i].voltage();
    return v;
}

/// Power that each bus delivers into its branches and shunts, per unit.
Eigen::VectorXcd delivered(const Admittance& y, const Eigen::VectorXcd& v) { return v.cwiseProduct((y * v).conjugate()); }

/// Power that machines and loads give, per unit; what machines deliver reactively counts where they do not hold the voltage.
Eigen::VectorXcd given(const Grid& grid) {
    Eigen::VectorXcd s(static_cast<Eigen::Index>(grid.bus.size()));
    for (std::size_t i = 0; i < grid.bus.size(); ++i) s[static_cast<Eigen::Index>(i)] = -GridPhasor(grid.bus[i].p, grid.bus[i].q) / grid.mva;
    for (const GridMachine& m : grid.machine) s[static_cast<Eigen::Index>(m.bus)] += GridPhasor(m.p, m.q) / grid.mva;
    return s;
}

class Newton {
public:
    explicit Newton(const Grid& grid) : y_(admittance(grid)), given_(given(grid)), angle_(grid.bus.size(), -1), length_(grid.bus.size(), -1), rounding_(grid.bus.size(), 0) {
        for (Eigen::Index k = 0; k < y_.outerSize(); ++k)
            for (Admittance::InnerIterator e(y_, k); e; ++e) rounding_[static_cast<std::size_t>(e.row())] += 8 * std::numeric_limits<double>::epsilon() * std::abs(e.value());
        for (std::size_t i = 0; i < grid.bus.size(); ++i)
            if (!grid.bus[i].slack) angle_[i] = unknowns_++;
        for (std::size_t i = 0; i < grid.bus.size(); ++i)
            if (!grid.bus[i].slack && !grid.bus[i].regulated) length_[i] = unknowns_++;
    }

    /// Whether it has converged; then `v` is the solution.
    bool run(Eigen::VectorXcd& v) {
        Vector off = missing(v);
        double error = worst(off);
        int more = 2;  // iterations beyond the tolerance, as long as they help
        for (int i = 0; i < kIterations && error > 0; ++i) {
            if (error < kSolved && more-- == 0) break;
            Eigen::SparseMatrix<double> j = jacobian(v);
            if (!analysed_ || lu_.info() != Eigen::Success) lu_.analyzePattern(j);
            analysed_ = true;
            lu_.factorize(j);
            if (lu_.info() != Eigen::Success) return error < kSolved;
            const Vector step = lu_.solve(off);
            Eigen::VectorXcd next;
            double part = 1, after = 0;
            for (;; part /= 2) {
                next = moved(v, part * step);
                after = worst(missing(next));
                if (after < error || part < 1.0 / 64) break;
            }
            if (!(after < error)) return error < kSolved;
            v = next;
            off = missing(v);
            error = after;
        }
        return error < kSolved;
    }

private:
    /// What is missing most, in which a bus with very large admittances counts less: its power is a small difference of large ones.
    [[nodiscard]] double worst(const Vector& off) const {
        double out = 0;
        const auto take = [&](int equation, double rounding) {
            if (equation < 0) return;
            const double x = std::abs(off[equation]) / (1 + rounding / kSolved);
            out = x <= out ? out : std::isfinite(x) ? x : std::numeric_limits<double>::infinity();
        };
        for (std::size_t i = 0; i < angle_.size(); ++i)
            for (const int equation : {angle_[i], length_[i]}) take(equation, rounding_[i]);
        return out;
    }
    [[nodiscard]] Vector missing(const Eigen::VectorXcd& v) const {
        const Eigen::VectorXcd s = given_ - delivered(y_, v);
        Vector out(unknowns_);
        for (std::size_t i = 0; i < angle_.size(); ++i) {
            if (angle_[i] >= 0) out[angle_[i]] = s[static_cast<Eigen::Index>(i)].real();
            if (length_[i] >= 0) out[length_[i]] = s[static_cast<Eigen::Index>(i)].imag();
        }
        return out;
    }
    /// Derivatives of the delivered powers by angles and by relative lengths of the voltages.
    [[nodiscard]] Eigen::SparseMatrix<double> jacobian(const Eigen::VectorXcd& v) const {
        std::vector<Eigen::Triplet<double>> entries;
        const Eigen::VectorXcd s = delivered(y_, v);
        const auto add = [&](std::size_t i, std::size_t k, GridPhasor by_angle, GridPhasor by_length) {
            const auto put = [&](int row, double a, double l) {
                if (row < 0) return;
                if (angle_[k] >= 0) entries.emplace_back(row, angle_[k], a);
                if (length_[k] >= 0) entries.emplace_back(row, length_[k], l);
            };
            put(angle_[i], by_angle.real(), by_length.real());
            put(length_[i], by_angle.imag(), by_length.imag());
        };
        const GridPhasor j{0, 1};
        for (Eigen::Index k = 0; k < y_.outerSize(); ++k)
            for (Admittance::InnerIterator e(y_, k); e; ++e) {
                const GridPhasor term = v[e.row()] * std::conj(e.value() * v[k]);
                add(static_cast<std::size_t>(e.row()), static_cast<std::size_t>(k), -j * term, term);
            }
        for (std::size_t i = 0; i < angle_.size(); ++i) add(i, i, j * s[static_cast<Eigen::Index>(i)], s[static_cast<Eigen::Index>(i)]);
        Eigen::SparseMatrix<double> out(unknowns_, unknowns_);
        out.setFromTriplets(entries.begin(), entries.end());
        return out;
    }
    [[nodiscard]] Eigen::VectorXcd moved(const Eigen::VectorXcd& v, const Vector& step) const {
        Eigen::VectorXcd out = v;
        for (std::size_t i = 0; i < angle_.size(); ++i) {
            GridPhasor& u = out[static_cast<Eigen::Index>(i)];
            if (length_[i] >= 0) u *= 1 + std::max(step[length_[i]], -0.5);
            if (angle_[i] >= 0) u *= std::polar(1.0, step[angle_[i]]);
        }
        return out;
    }

    Admittance y_;
    Eigen::VectorXcd given_;
    std::vector<int> angle_, length_;  // unknown and equation of each bus, or -1
    std::vector<double> rounding_;     // of the power of each bus at 1 per unit
    int unknowns_ = 0;
    bool analysed_ = false;
    Eigen::SparseLU<Eigen::SparseMatrix<double>> lu_;
};

/// From the voltages as they are, and if that does not converge from 1 per unit.
bool solve_from_both(Grid& grid) {
    for (const bool flat : {false, true}) {
        Eigen::VectorXcd v = voltages(grid);
        double angle = 0;
        for (const GridBus& b : grid.bus)
            if (b.slack) angle = b.va * kDegree;
        if (flat)
            for (std::size_t i = 0; i < grid.bus.size(); ++i)
                if (const GridBus& b = grid.bus[i]; !b.slack) v[static_cast<Eigen::Index>(i)] = std::polar(b.regulated ? b.vm : 1, angle);
        if (!Newton(grid).run(v)) continue;
        for (std::size_t i = 0; i < grid.bus.size(); ++i) {
            const GridPhasor u = v[static_cast<Eigen::Index>(i)];
            // What is given stays as it is, to all digits.
            if (GridBus& b = grid.bus[i]; !b.slack) {
                if (!b.regulated) b.vm = std::abs(u);
                b.va = std::arg(u) / kDegree;
            }
        }
        return true;
    }
    return false;
}

struct ReactiveLimits {
    double low = 0, high = 0;
};

/// Makes buses whose machines are beyond their limits such that deliver these; their names.
std::vector<std::string> limit_machines(Grid& grid) {
    std::map<std::size_t, ReactiveLimits> of_bus;
    for (const GridMachine& m : grid.machine) {
        ReactiveLimits& l = of_bus[m.bus];
        l.low += m.q_low;
        l.high += m.q_high;
    }
    const Eigen::VectorXcd s = delivered(admittance(grid), voltages(grid));
    std::vector<std::string> out;
    for (const auto& [i, limits] : of_bus) {
        GridBus& b = grid.bus[i];
        if (!b.regulated) continue;
        const double q = s[static_cast<Eigen::Index>(i)].imag() * grid.mva + b.q;
        const bool above = q > limits.high + kBeyond_mvar, below = q < limits.low - kBeyond_mvar;
        if ((!above && !below) || b.slack) continue;  // without the slack's machines nothing would hold a voltage there
        b.regulated = false;
        std::size_t machines = 0;
        for (const GridMachine& m : grid.machine) machines += m.bus == i ? 1 : 0;
        for (GridMachine& m : grid.machine)
            if (m.bus == i) m.q = (above ? limits.high : limits.low) / static_cast<double>(machines);
        out.push_back(std::to_string(b.number));
    }
    return out;
}

std::string enumerated(const std::vector<std::string>& names) {
    constexpr std::size_t kShown = 10;
    std::string out;
    for (std::size_t i = 0; i < names.size() && i < kShown; ++i) out += (i > 0 ? ", " : "") + names[i];
    return names.size() > kShown ? out + ", ..." : out;
}

}  // namespace

GridPhasor GridBus::voltage() const { return std::polar(vm, va * kDegree); }
GridPhasor GridBranch::ratio() const { return std::polar(tap, shift * kDegree); }

Mismatch largest_mismatch(const Grid& grid) {
    const Admittance y = admittance(grid);
    const Eigen::VectorXcd v = voltages(grid), current = y * v, off = given(grid) - delivered(y, v);
    // How far a power may be off that follows from rounded voltages: far where impedances are small.
    Vector unsure = current.cwiseAbs();
    for (Eigen::Index k = 0; k < y.outerSize(); ++k)
        for (Admittance::InnerIterator e(y, k); e; ++e) unsure[e.row()] += std::abs(v[e.row()] * e.value());
    Mismatch out;
    const auto take = [&](double mva, std::size_t bus, bool reactive) {
        const double more = std::abs(mva) - grid.rounding * unsure[static_cast<Eigen::Index>(bus)] * grid.mva;
        if (!(more <= out.mva)) out = {more, bus, reactive};
    };
    for (std::size_t i = 0; i < grid.bus.size(); ++i) {
        if (grid.bus[i].slack) continue;
        const GridPhasor s = off[static_cast<Eigen::Index>(i)] * grid.mva;
        take(s.real(), i, false);
        if (!grid.bus[i].regulated) take(s.imag(), i, true);
    }
    return out;
}

std::string told(const Grid& grid, const Mismatch& mismatch) {
    if (mismatch.mva == 0) return "none that their rounding does not explain";
    return printed("%.3g", mismatch.mva) + (mismatch.reactive ? " MVAr" : " MW") + " at bus " + std::to_string(grid.bus[mismatch.bus].number);
}

void solve_grid(Grid& grid, bool limits, const std::string& origin) {
    const Grid before = grid;
    for (const GridMachine& m : grid.machine)
        if (GridBus& b = grid.bus[m.bus]; b.regulated) b.vm = m.v;
    std::vector<std::string> at_limit;
    for (int round = 0;; ++round) {
        if (round == kRounds || !solve_from_both(grid))
            throw CaseError(origin + ": the power flow does not converge" +
                            (at_limit.empty() ? std::string("\n")
                                              : " with the machines of " + std::to_string(at_limit.size()) + " buses at their reactive limits (" + enumerated(at_limit) +
                                                    "); try --reactive-limits ignore\n"));
        if (!limits) break;
        const std::vector<std::string> more = limit_machines(grid);
        if (more.empty()) break;
        at_limit.insert(at_limit.end(), more.begin(), more.end());
    }
    std::size_t moved = 0, most = 0;
    double distance = 0;
    for (std::size_t i = 0; i < grid.bus.size(); ++i) {
        const double d = std::abs(grid.bus[i].voltage() - before.bus[i].voltage());
        moved += d > 1e-6 ? 1 : 0;
        if (d > distance) {
            distance = d;
            most = i;
        }
    }
    if (moved == 0) {
        grid.notes.push_back("solved: no voltage moved by more than 1e-6 per unit");
    } else {
        const GridBus &was = before.bus[most], &is = grid.bus[most];
        grid.notes.push_back("solved: the voltages of " + std::to_string(moved) + " buses moved, most at bus " + std::to_string(is.number) + ", from " +
                             printed("%.4f", was.vm) + " per unit at " + printed("%.2f", was.va) + " to " + printed("%.4f", is.vm) + " at " + printed("%.2f", is.va) + " degrees");
    }
    if (!at_limit.empty()) grid.notes.push_back("machines of " + std::to_string(at_limit.size()) + " buses are at their reactive limits: " + enumerated(at_limit));
    if (!limits) grid.notes.push_back("reactive limits are ignored");
}

void share_generation(Grid& grid) {
    const Eigen::VectorXcd s = delivered(admittance(grid), voltages(grid));
    std::map<std::size_t, std::vector<GridMachine*>> at_bus;
    for (GridMachine& m : grid.machine) at_bus[m.bus].push_back(&m);
    for (const auto& [i, machines] : at_bus) {
        const GridBus& b = grid.bus[i];
        const GridPhasor out = s[static_cast<Eigen::Index>(i)] * grid.mva + GridPhasor(b.p, b.q);
        double p = 0, q = 0, rating = 0;
        for (const GridMachine* m : machines) {
            p += m->p;
            q += m->q;
            rating += m->rating_mva;
        }
        if (b.regulated) q = out.imag();
        for (GridMachine* m : machines) m->q = q * m->rating_mva / rating;
        if (!b.slack) continue;
        if (const double was = p; std::abs(was - out.real()) > 1e-3 * std::max(1.0, std::abs(out.real())))
            grid.notes.push_back("the slack at bus " + std::to_string(b.number) + " delivers " + printed("%.4g", out.real()) + " MW; the case states " + printed("%.4g", was) + " MW");
        machines.front()->p += out.real() - p;
    }
}

void insert_step_ups(Grid& grid) {
    long number = 2'000'000;  // beyond the buses of a file and the star buses of its transformers
    std::vector<char> led(grid.bus.size(), 0);
    for (GridMachine& m : grid.machine) {
        const bool leads = led[m.bus] == 0;
        led[m.bus] = 1;
        if (m.step_up == GridPhasor()) continue;
        GridBus& bus = grid.bus[m.bus];
        const GridPhasor current = std::conj(GridPhasor(m.p, m.q) / grid.mva / bus.voltage()) * m.step_up_ratio;
        const GridPhasor v = bus.voltage() / m.step_up_ratio + m.step_up * current, power = v * std::conj(current) * grid.mva;
        GridBus terminals{m.where, ++number, bus.kv, std::abs(v), std::arg(v) / kDegree};
        // The machine takes the angle along that it holds; others at the bus hold none.
        if (leads) std::swap(terminals.slack, bus.slack);
        grid.branch.push_back({m.where, "T_" + m.name, m.bus, grid.bus.size(), m.step_up.real(), m.step_up.imag(), 0, m.step_up_ratio, 0, true});
        m.bus = grid.bus.size();
        m.p = power.real();
        m.q = power.imag();
        grid.bus.push_back(terminals);
        led.push_back(1);
    }
}

void choose_slack(Grid& grid, const std::string& origin) {
    std::vector<char> machine(grid.bus.size(), 0);
    for (const GridMachine& m : grid.machine) machine[m.bus] = 1;
    for (std::size_t i = 0; i < grid.bus.size(); ++i) {
        GridBus& b = grid.bus[i];
        if (machine[i] != 0) continue;
        if (b.slack) grid.notes.push_back("bus " + std::to_string(b.number) + " has no machine that is on: not a slack bus");
        b.slack = b.regulated = false;
    }
    if (std::any_of(grid.bus.begin(), grid.bus.end(), [](const GridBus& b) { return b.slack; })) return;
    const auto first = std::find_if(grid.bus.begin(), grid.bus.end(), [](const GridBus& b) { return b.regulated; });
    if (first == grid.bus.end()) throw CaseError(origin + ": has no machine at a bus of type 2 or 3, which would hold a voltage\n");
    first->slack = true;
    grid.notes.push_back("there is no slack bus: bus " + std::to_string(first->number) + " is taken");
}

void check_grid_islands(const Grid& grid, const std::string& origin) {
    std::vector<std::vector<std::size_t>> beside(grid.bus.size());
    for (const GridBranch& e : grid.branch) {
        beside[e.from].push_back(e.to);
        beside[e.to].push_back(e.from);
    }
    std::vector<char> reached(grid.bus.size(), 0);
    std::vector<std::size_t> next;
    for (std::size_t i = 0; i < grid.bus.size(); ++i)
        if (grid.bus[i].slack) next.push_back(i);
    while (!next.empty()) {
        const std::size_t i = next.back();
        next.pop_back();
        if (reached[i] != 0) continue;
        reached[i] = 1;
        for (const std::size_t k : beside[i]) next.push_back(k);
    }
    Diagnostics problems;
    for (std::size_t i = 0; i < grid.bus.size(); ++i)
        if (reached[i] == 0) problems.add(grid.bus[i].where, "no-slack", "no branch connects bus " + std::to_string(grid.bus[i].number) + " with a slack bus");
    if (!problems.empty()) throw CaseError(origin, problems);
}

void settle_grid(Grid& grid, Solve solve, std::optional<double> tolerance_mva, const std::string& origin) {
    check_grid_islands(grid, origin);
    double load = 0;
    for (const GridBus& b : grid.bus) load += std::hypot(b.p, b.q);
    const double tolerated = tolerance_mva.value_or(std::min(1.0, 1e-4 * load));
    std::string assumed;
    for (const std::string& note : grid.notes) assumed += "\n  " + note;
    const Mismatch as_given = largest_mismatch(grid);
    grid.notes.push_back("largest mismatch of the case's voltages: " + told(grid, as_given));
    if (solve != Solve::no) {
        solve_grid(grid, solve == Solve::with_limits, origin);
    } else if (!(as_given.mva <= tolerated)) {
        throw CaseError(origin + ": the case is not solved: the largest mismatch is " + told(grid, as_given) + ", above the tolerance of " +
                        printed("%.3g", tolerated) + " MVA; solve it with --solve, or allow more with --tolerance" + assumed);
    }
    share_generation(grid);
}

}  // namespace emt
