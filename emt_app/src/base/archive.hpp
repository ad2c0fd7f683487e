// A walk over state that writes it or reads it back: one function does both, so that their order cannot differ.
#pragma once
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace emt {

class Archive {
public:
    /// Writes: calls append their values to bytes().
    Archive() = default;
    /// Reads from these bytes, which must outlive it.
    explicit Archive(std::string_view from) : from_(from), reads_(true) {}

    /// Throws std::runtime_error if nothing is left to read.
    template <class T>
    void operator()(T& value) {
        static_assert(std::is_trivially_copyable_v<T>);
        if (!reads_) {
            bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
        } else {
            if (from_.size() < sizeof value) throw std::runtime_error("ends too early");
            std::memcpy(&value, from_.data(), sizeof value);
            from_.remove_prefix(sizeof value);
        }
    }
    /// A flag: any other byte than 0 and 1 would make a bool undefined.
    void operator()(bool& value) {
        char byte = value ? 1 : 0;
        within(byte, char{0}, char{1});
        value = byte != 0;
    }
    /// Throws std::runtime_error if it reads a value that is not from `low` to `high`.
    template <class T>
    void within(T& value, T low, T high) {
        (*this)(value);
        if (reads_ && !(value >= low && value <= high)) throw std::runtime_error("has a value out of its range");
    }
    void finite(double& value) { within(value, std::numeric_limits<double>::lowest(), std::numeric_limits<double>::max()); }
    [[nodiscard]] const std::string& bytes() const { return bytes_; }
    [[nodiscard]] bool reads() const { return reads_; }
    /// Returns the number of bytes left to read.
    [[nodiscard]] std::size_t left() const { return from_.size(); }

private:
    std::string bytes_;
    std::string_view from_;
    bool reads_ = false;
};

}  // namespace emt
