// A case given as text, simulated on one rank.
#pragma once
#include <mpi.h>

#include <memory>
#include <string>
#include <vector>

#include "case/case_file.hpp"
#include "parallel/engine.hpp"

namespace emt::test {

class Simulation {
public:
    explicit Simulation(const std::string& text, double dt_s = 0, const char* isa = "auto")
        : case_(parse_case(text, "test", dt_s, true)), parts_(decompose(case_.network)) {
        EngineOptions options;
        options.kernels = find_kernels(isa);
        engine_ = std::make_unique<Engine>(MPI_COMM_SELF, case_.network, parts_, map_tasks(case_.network, parts_, 1), options);
    }
    void run(int steps) {
        for (int i = 0; i < steps; ++i) engine_->step();
    }
    [[nodiscard]] double v(const std::string& node) const {
        for (int i = 0; i < case_.network.nodes(); ++i)
            if (case_.network.node_names[static_cast<std::size_t>(i)] == node) return engine_->voltage(i);
        throw std::runtime_error("no node " + node);
    }
    /// At the beginning of the last step.
    [[nodiscard]] double signal(const std::string& name) const {
        const auto& all = case_.network.signals.all();
        for (std::size_t i = 0; i < all.size(); ++i)
            if (all[i].name == name) return engine_->signal(static_cast<int>(i));
        throw std::runtime_error("no signal " + name);
    }
    [[nodiscard]] double time() const { return static_cast<double>(engine_->steps()) * case_.network.dt_s; }
    [[nodiscard]] double dt() const { return case_.network.dt_s; }
    Engine& engine() { return *engine_; }
    [[nodiscard]] const Case& study() const { return case_; }
    [[nodiscard]] const Decomposition& parts() const { return parts_; }

private:
    Case case_;
    Decomposition parts_;
    std::unique_ptr<Engine> engine_;
};

/// A case around a list of elements.
inline std::string make_case(const std::string& elements, double dt_s, const std::string& more = "") {
    return R"({"format":"kappa-emt-case","version":1,"frequency":60,"dt":)" + std::to_string(dt_s * 1e9) + "e-9," + more + R"("elements":[)" +
           elements + "]}";
}

}  // namespace emt::test
