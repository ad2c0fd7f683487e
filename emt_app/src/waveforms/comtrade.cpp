#include "waveforms/comtrade.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <stdexcept>

namespace emt {
namespace {

static_assert(std::endian::native == std::endian::little, "records hold numbers as memory does, and COMTRADE wants little-endian ones");
constexpr std::size_t kNameLength = 128;  // clause 7.4.4
constexpr const char* kEnd = "\r\n";

/// Returns a field of a line; commas separate fields, and the format has no quotes.
std::string field(std::string text) {
    std::replace_if(text.begin(), text.end(), [](unsigned char c) { return c == ',' || c < ' '; }, ' ');
    return text.substr(0, kNameLength);
}

std::string number(const char* format, auto value) {
    char text[64];
    std::snprintf(text, sizeof text, format, value);
    return text;
}

std::string digits(std::uint64_t value, int width) {
    char text[32];
    std::snprintf(text, sizeof text, "%0*llu", width, static_cast<unsigned long long>(value));
    return text;
}

/// Returns seconds since t = 0 as the date and time of a study, which has no date.
std::string instant(double t_s) {
    const auto us = static_cast<long long>(std::llround(t_s * 1e6));
    const long long s = us / 1'000'000;
    char text[64];
    std::snprintf(text, sizeof text, "%02lld/01/2000,%02lld:%02lld:%02lld.%06lld", 1 + s / 86400, s / 3600 % 24, s / 60 % 60, s % 60, us % 1'000'000);
    return text;
}

}  // namespace

RecordLayout comtrade_layout(const std::vector<Column>& columns, const Sampling& of) {
    constexpr int kCountDigits = 10, kByteDigits = 20;
    RecordLayout out;
    out.stamp_bytes = 2 * sizeof(std::uint32_t);
    out.value_bytes = sizeof(float);
    std::string& head = out.head;
    head = std::string("--- file type: CFG ---") + kEnd;
    head += field(of.title) + ",emt,2013" + kEnd;
    const std::string count = std::to_string(columns.size());
    head += count + "," + count + "A,0D" + kEnd;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        const Column& c = columns[i];
        if (c.name.size() > kNameLength || field(c.name) != c.name)
            throw std::runtime_error("channel '" + c.name + "' has a name that is not possible in COMTRADE (up to 128 characters, no comma): "
                                     "write HDF5 (FILE.h5) or leave it out");
        // a = 1, b = 0, no skew, the range of FLOAT32, primary values.
        head += std::to_string(i + 1) + "," + c.name + ",,," + (c.unit.empty() ? "NONE" : c.unit) + ",1,0,0,-3.4028235E38,3.4028235E38,1,1,P" + kEnd;
    }
    head += number("%.9g", of.frequency_hz) + kEnd + "1" + kEnd;
    head += number("%.15g", 1 / of.interval_s) + ",";
    const std::uint64_t count_at = head.size();
    head += digits(0, kCountDigits) + kEnd;
    const double start_s = static_cast<double>(of.first) * of.interval_s;
    head += instant(start_s) + kEnd + instant(start_s) + kEnd + "FLOAT32" + kEnd;
    head += number("%.15g", of.interval_s * 1e6) + kEnd;  // time stamps count intervals
    head += std::string("0,0") + kEnd + "0,0" + kEnd;     // UTC; no leap second
    head += std::string("--- file type: INF ---") + kEnd + "--- file type: HDR ---" + kEnd;
    head += std::string("--- file type: DAT FLOAT32: ");
    const std::uint64_t bytes_at = head.size();
    head += digits(0, kByteDigits) + " ---" + kEnd;
    out.data_at = head.size();
    out.stamp = [](std::uint64_t record) {
        if (record >= std::numeric_limits<std::uint32_t>::max()) throw std::runtime_error("COMTRADE counts records with 32 bits: use a larger --decimate");
        const std::uint32_t words[] = {static_cast<std::uint32_t>(record) + 1, static_cast<std::uint32_t>(record)};
        return std::string(reinterpret_cast<const char*>(words), sizeof words);
    };
    out.amend = [=, each = out.record_bytes(columns.size())](std::uint64_t records) {
        return std::vector<Amendment>{{count_at, digits(records, kCountDigits)}, {bytes_at, digits(records * each, kByteDigits)}};
    };
    return out;
}

}  // namespace emt
