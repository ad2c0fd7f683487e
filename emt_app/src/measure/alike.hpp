// The whole case on one rank, always from the same start: its bits are the same on every correct core and memory.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>

#include "base/fnv1a.hpp"
#include "case/case_file.hpp"
#include "parallel/engine.hpp"

namespace emt {

class Alike {
public:
    Alike(const Case& study, const Kernels* kernels)
        : net_(study.network), parts_(decompose(net_)), mapping_(map_tasks(net_, parts_, 1)) {
        options_.kernels = kernels;
    }

    /// Returns the digest of all voltages at all steps, and of the final memory: state, coefficients, waves under way.
    /// If the simulation fails: digest of its message. Calls `after_step(engine)` after each step except the last.
    template <class AfterStep>
    [[nodiscard]] std::uint64_t round(std::uint64_t steps, AfterStep&& after_step) const {
        Engine engine(MPI_COMM_SELF, net_, parts_, mapping_, options_);
        try {
            engine.step();
            while (engine.steps() < steps) {
                after_step(engine);
                engine.step();
            }
        } catch (const SimulationError& e) {
            return fnv1a(e.what(), std::strlen(e.what()));
        }
        std::uint64_t hash = fnv1a(nullptr, 0);
        const auto absorb = [&hash](const AlignedDoubles& memory) { hash = fnv1a(memory.data(), memory.size() * sizeof(double), hash); };
        for (Batch& b : engine.batches()) {
            absorb(b.state());  // with the digests of the voltages
            absorb(b.constants());
        }
        absorb(engine.lines().rings());
        return hash;
    }

private:
    const Network& net_;
    Decomposition parts_;
    Mapping mapping_;
    EngineOptions options_;
};

/// Returns the influence on the bits besides the case: Eigen's order of additions. The kernels of all instruction sets
/// give the same bits, and only exact functions of the C library take part.
[[nodiscard]] std::string basis_of_bits();

}  // namespace emt
