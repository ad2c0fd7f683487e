// Outputs of a case besides node voltages and signals: currents, fluxes and energies of its elements, with the names
// ELEMENT.QUANTITY and, for three phases, ELEMENT.PHASE.QUANTITY. Only requested channels are computed;
// parallel/outputs.hpp reads them. The list is made on request only: it would be the larger part of a large case.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace emt {

/// The current, voltage, … of one branch of a primitive, times a weight.
struct Carried {
    enum class By { conductance, reactance, branch, rlc, coupled, driven, transformer, piecewise, pole, line, machine };
    By by;
    std::size_t index;  // in the network's list of the kind
    int branch = 0;     // of a primitive with several; for a line, 0 to 2 at its first end, 3 to 5 at its second
    double weight = 1;
};

struct Channel {
    /// Current, A, positive from the first terminal to the second, out of a source and into a transformer's primary winding and a line.
    /// Voltage, V, of the first terminal against the second. Flux linkage, Wb. Energy taken since t = 0, J. State of a switch: 1 closed, 0 open.
    enum class Quantity { current, voltage, flux, energy, state };
    std::string name;
    Quantity quantity;
    std::vector<Carried> sum;

    [[nodiscard]] const char* unit() const {
        constexpr const char* kUnits[] = {"A", "V", "Wb", "J", ""};
        return kUnits[static_cast<std::size_t>(quantity)];
    }
};

class Channels {
public:
    using Quantity = Channel::Quantity;
    bool wanted = false;

    /// Sets the element of the channels added from now on.
    void of(const std::string& element) {
        if (wanted) element_ = element;
    }
    /// Adds ELEMENT.`what`.
    void add(const std::string& what, Quantity quantity, std::vector<Carried> sum) {
        if (wanted) all_.push_back({element_ + "." + what, quantity, std::move(sum)});
    }
    /// Adds a channel of one phase of `phases`; the name has the phase if there are three.
    void add(std::size_t phase, std::size_t phases, const char* what, Quantity quantity, std::vector<Carried> sum) {
        if (wanted) add(phases == 1 ? what : std::string(1, "abc"[phase]) + "." + what, quantity, std::move(sum));
    }
    /// Adds a channel of each of the last `phases` primitives of a list of present size `size`.
    void add(const char* what, Quantity quantity, Carried::By by, std::size_t size, std::size_t phases) {
        for (std::size_t k = 0; k < phases; ++k) add(k, phases, what, quantity, {{by, size - phases + k}});
    }

    /// Adds current and voltage of each of the last `phases` two-terminal primitives of such a list.
    void add_branches(Carried::By by, std::size_t size, std::size_t phases) {
        add("i", Quantity::current, by, size, phases);
        add("u", Quantity::voltage, by, size, phases);
    }

    [[nodiscard]] const std::vector<Channel>& all() const { return all_; }

private:
    std::string element_;
    std::vector<Channel> all_;
};

}  // namespace emt
