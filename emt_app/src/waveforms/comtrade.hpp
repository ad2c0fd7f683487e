// COMTRADE, IEEE C37.111-2013 (IEC 60255-24:2013), as one file (.cff) with data of the type FLOAT32.
#pragma once
#include "waveforms/record_layout.hpp"

namespace emt {

/// Sections CFG and DAT FLOAT32: clauses 7, 8.6 and 9 of the standard. FLOAT32 keeps 24 bits and, unlike the integers
/// of BINARY and BINARY32, needs no range in advance. Throws std::runtime_error if the format cannot hold a name.
[[nodiscard]] RecordLayout comtrade_layout(const std::vector<Column>& columns, const Sampling& sampling);

}  // namespace emt
