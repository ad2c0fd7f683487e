// Signals: numbers with a name in the case that elements measure, compute or read as input, one value per step.
//
// A block's output has the name of the block; other elements make "ELEMENT.output". The maker of a signal and all its
// readers are in one task.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

namespace emt {

class Signals {
public:
    struct Signal {
        std::string name;
        std::vector<std::string> makers;   // names of elements; one, in a case without problems
        std::vector<std::string> readers;  // names of elements that require the signal
    };

    /// Returns the number of a signal that `element` makes.
    int make(const std::string& name, const std::string& element) {
        const int signal = number(name);
        all_[static_cast<std::size_t>(signal)].makers.push_back(element);
        return signal;
    }
    /// Returns the number of a signal that `element` reads; it is a problem of the case if no element makes the signal.
    int read(const std::string& name, const std::string& element) {
        const int signal = number(name);
        all_[static_cast<std::size_t>(signal)].readers.push_back(element);
        return signal;
    }
    /// Returns the number of an optional signal: tasks have kNoSignal in its place if no element makes it.
    int read_if_made(const std::string& name) { return number(name); }

    [[nodiscard]] const std::vector<Signal>& all() const { return all_; }
    [[nodiscard]] int count() const { return static_cast<int>(all_.size()); }
    [[nodiscard]] bool made(int signal) const { return !all_[static_cast<std::size_t>(signal)].makers.empty(); }

private:
    int number(const std::string& name) {
        const auto [it, fresh] = number_.emplace(name, count());
        if (fresh) all_.push_back({name, {}, {}});
        return it->second;
    }
    std::vector<Signal> all_;
    std::unordered_map<std::string, int> number_;
};

}  // namespace emt
