// Standard models of controllers: parameters with their usual values, and a diagram of blocks.
#pragma once
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "elements/diagram.hpp"
#include "elements/reader.hpp"

namespace emt {

/// A parameter with its name in the standard; per unit of the machine's base, and seconds.
struct Parameter {
    const char* name;
    double usual;
    Range range = Range::any;
};
inline constexpr Range kPositive = Range::positive, kNotNegative = Range::not_negative;

/// The parameters of one controller.
class Parameters {
public:
    Parameters(std::span<const Parameter> known, Reader& in) : known_(known) {
        for (const Parameter& p : known) value_.push_back(in.number(p.name, p.range, "", p.usual));
    }
    [[nodiscard]] double operator()(std::string_view name) const {
        for (std::size_t k = 0; k < known_.size(); ++k)
            if (name == known_[k].name) return value_[k];
        throw std::logic_error("no parameter " + std::string(name));
    }

    [[nodiscard]] Bound bound(std::string_view name) const { return {(*this)(name), name}; }

    /// Returns the problem of a lower limit above its upper limit, or an empty text.
    [[nodiscard]] std::string wrong_limits() const {
        for (const Parameter& p : known_)
            if (std::string name = p.name; name.ends_with("MAX")) {
                const std::string low = name.substr(0, name.size() - 3) + "MIN";
                for (const Parameter& other : known_)
                    if (low == other.name && (*this)(low) > (*this)(name)) return "'" + low + "' must not be above '" + name + "'";
            }
        return {};
    }

private:
    std::span<const Parameter> known_;
    std::vector<double> value_;
};

/// The connections of a controller.
struct Connection {
    std::string machine;             // its signals are MACHINE.vt and so on
    std::optional<double> reference; // of a start from rest; a steady start finds it
    std::string input;               // a signal that is added to the reference, or empty

    [[nodiscard]] std::string signal(const char* of_machine) const { return machine + '.' + of_machine; }
};

struct ControlModel {
    std::string_view name;
    std::span<const Parameter> parameters;
    void (*build)(Diagram&, const Parameters&, const Connection&);
    /// Returns the problem of the parameters together, or an empty text; null if none is possible.
    std::string (*problem)(const Parameters&) = nullptr;
};

/// Returns the signal of the reference plus the connection's input.
[[nodiscard]] int reference_of(Diagram& d, const Connection& c);

// Each model is one file.
[[nodiscard]] ControlModel dc1a_model();
[[nodiscard]] ControlModel ac1a_model();
[[nodiscard]] ControlModel ac4a_model();
[[nodiscard]] ControlModel st1a_model();
[[nodiscard]] ControlModel sexs_model();
[[nodiscard]] ControlModel pss1a_model();
[[nodiscard]] ControlModel pss2b_model();
[[nodiscard]] ControlModel ieeest_model();
[[nodiscard]] ControlModel tgov1_model();
[[nodiscard]] ControlModel ieeeg1_model();
[[nodiscard]] ControlModel hygov_model();
[[nodiscard]] ControlModel gast_model();

}  // namespace emt
