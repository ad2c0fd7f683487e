// Records of a PSS/E power flow file (.raw), by section. Commas or blanks divide the fields of a line, quotes enclose texts, "/" begins a
// comment (Siemens PTI, PSS/E Program Operation Manual, versions 33 and 34, "Power Flow Raw Data File Contents").
#pragma once
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.hpp"

namespace emt {

/// In the order of the file. Versions before 34 have no system_wide and no switching_device.
enum class PsseSection : std::size_t {
    system_wide, bus, load, fixed_shunt, generator, branch, switching_device, transformer, area, two_terminal_dc, vsc_dc, impedance_correction,
    multi_terminal_dc, multi_section_line, zone, transfer, owner, facts, switched_shunt, gne, induction_machine, count
};

struct PsseLine {
    int number;                      // in the file, from 1
    std::vector<std::string> field;  // "" if omitted; texts without quotes
};
/// One line; several for a transformer or a DC line.
using PsseRecord = std::vector<PsseLine>;

struct PsseFile {
    std::string origin;
    int version = 0;
    double mva = 0, frequency_hz = 0;  // frequency_hz is 0 if the file does not state it
    std::array<std::vector<PsseRecord>, static_cast<std::size_t>(PsseSection::count)> section;

    [[nodiscard]] const std::vector<PsseRecord>& operator[](PsseSection s) const { return section[static_cast<std::size_t>(s)]; }
};

/// Throws CaseError with the line and the expectation: unknown version, unfinished record or file, sections in another order.
[[nodiscard]] PsseFile read_psse_file(const std::string& text, const std::string& origin);

/// Fields of a line by place, from 0. Adds to `problems` every field that differs from its expectation.
class PsseRow {
public:
    PsseRow(const PsseFile& file, const PsseLine& line, Diagnostics& problems) : file_(file), line_(line), problems_(problems) {}

    /// `name` is the field's name in the manual; a field without a default `omitted` is required.
    double number(std::size_t place, const char* name, std::optional<double> omitted = {});
    long whole(std::size_t place, const char* name, std::optional<long> omitted = {});
    /// Identifier of one of several devices at a bus: "1" if omitted.
    [[nodiscard]] std::string id(std::size_t place) const;

    void refuse(const std::string& why);
    [[nodiscard]] bool sound() const { return sound_; }
    [[nodiscard]] std::string where() const;

private:
    const PsseFile& file_;
    const PsseLine& line_;
    Diagnostics& problems_;
    bool sound_ = true;
};

}  // namespace emt
