// The whole case on one rank, always from the same start: its bits are those of every core that computes and remembers rightly.
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

    /// Digest of all voltages at all steps, and of all that is left in memory: state, coefficients, waves on their way.
    /// A simulation that cannot go on has ended with what it says. `after_step(engine)` is called after each step but the last.
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

/// What the bits depend on besides the case: the order in which Eigen adds. The kernels of all instruction sets give the same.
[[nodiscard]] std::string basis_of_bits();

}  // namespace emt
