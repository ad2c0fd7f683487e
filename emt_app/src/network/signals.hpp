// Signals: numbers that elements measure, compute and are driven by, one value a step, known in the case by name.
//
// A block's output has the name of the block; other elements make "ELEMENT.output". What makes a signal and all that read it
// are in one task.
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
        std::vector<std::string> readers;  // of those that cannot do without
    };

    /// The number of a signal that `element` makes.
    int make(const std::string& name, const std::string& element) {
        const int signal = number(name);
        all_[static_cast<std::size_t>(signal)].makers.push_back(element);
        return signal;
    }
    /// The number of a signal that `element` reads; that nobody makes it is a problem of the case.
    int read(const std::string& name, const std::string& element) {
        const int signal = number(name);
        all_[static_cast<std::size_t>(signal)].readers.push_back(element);
        return signal;
    }
    /// The same of a signal that need not be: tasks have kNoSignal in its place when nobody makes it.
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
