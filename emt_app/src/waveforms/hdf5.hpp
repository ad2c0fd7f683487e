// HDF5: the data set `values`, records × (1 + channels) of 64 bits; the first column is the time in s. `names` and
// `units` describe its columns.
//
// Ranks need no parallel HDF5: the library makes the head of the file in memory. The values follow it contiguously, as
// in a file of the library's own, so that all ranks write them as they write COMTRADE.
#pragma once
#include "waveforms/record_layout.hpp"

namespace emt {

/// Throws std::runtime_error if built without the HDF5 library, or if the library puts data after the values.
[[nodiscard]] RecordLayout hdf5_layout(const std::vector<Column>& columns, const Sampling& sampling);

}  // namespace emt
