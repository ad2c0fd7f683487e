// What a case can show besides the voltages of its nodes and its signals: currents, fluxes and energies of its elements, under the
// names ELEMENT.QUANTITY and, of three phases, ELEMENT.PHASE.QUANTITY. Nothing is computed that nobody asks for; parallel/outputs.hpp
// reads them. The list is only made where it is wanted: it would be the larger part of a large case.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace emt {

/// What one branch of a primitive carries, times a weight.
struct Carried {
    enum class By { conductance, reactance, branch, rlc, coupled, transformer, piecewise, pole, line, machine };
    By by;
    std::size_t index;  // in the network's list of the kind
    int branch = 0;     // of a primitive that has several; of a line 0 to 2 where it begins, 3 to 5 where it ends
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

    /// Those added from now on belong to this element.
    void of(const std::string& element) {
        if (wanted) element_ = element;
    }
    /// ELEMENT.`what`.
    void add(const std::string& what, Quantity quantity, std::vector<Carried> sum) {
        if (wanted) all_.push_back({element_ + "." + what, quantity, std::move(sum)});
    }
    /// The same of one phase of `phases`, which is part of the name if there are three.
    void add(std::size_t phase, std::size_t phases, const char* what, Quantity quantity, std::vector<Carried> sum) {
        if (wanted) add(phases == 1 ? what : std::string(1, "abc"[phase]) + "." + what, quantity, std::move(sum));
    }
    /// Of each of the last `phases` primitives of a list that has `size` now.
    void add(const char* what, Quantity quantity, Carried::By by, std::size_t size, std::size_t phases) {
        for (std::size_t k = 0; k < phases; ++k) add(k, phases, what, quantity, {{by, size - phases + k}});
    }

    /// Current and voltage of each of the last `phases` primitives of two terminals of such a list.
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
