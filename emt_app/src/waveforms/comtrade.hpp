// COMTRADE, IEEE C37.111-2013 (IEC 60255-24:2013), as one file (.cff) with data of the type FLOAT32.
#pragma once
#include "waveforms/record_layout.hpp"

namespace emt {

/// Sections CFG and DAT FLOAT32: clauses 7, 8.6 and 9 of the standard. FLOAT32 needs no range of values beforehand, as the integers of BINARY
/// and BINARY32 do, and keeps 24 bits. Throws std::runtime_error for a channel whose name the format cannot hold.
[[nodiscard]] RecordLayout comtrade_layout(const std::vector<Column>& columns, const Sampling& sampling);

}  // namespace emt
