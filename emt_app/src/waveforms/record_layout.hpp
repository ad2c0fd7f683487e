// Layout of a file of waveforms: a head, then records of one size, each with a stamp and the values of all channels.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace emt {

struct Column {
    std::string name, unit;  // no unit: a number per unit or without one
    int rank = 0;            // the rank that has it
};

/// Content of the head besides the channels.
struct Sampling {
    std::string title;
    double frequency_hz = 0;
    double interval_s = 0;
    std::uint64_t first = 0;    // of the first record, in intervals since t = 0
    std::uint64_t records = 0;  // of a run that ends as planned
};

/// Text or bytes of the head that change with the count of records.
struct Amendment {
    std::uint64_t at;
    std::string bytes;
};

struct RecordLayout {
    std::string head;  // for 0 records; amend(n) changes it to n records
    std::size_t stamp_bytes = 0;
    std::size_t value_bytes = 0;  // 4 or 8, IEEE 754, little-endian
    std::uint64_t data_at = 0;
    std::function<std::string(std::uint64_t record)> stamp;
    std::function<std::vector<Amendment>(std::uint64_t records)> amend;

    [[nodiscard]] std::uint64_t record_bytes(std::size_t columns) const { return stamp_bytes + value_bytes * columns; }
};

}  // namespace emt
