// HDF5: the data set `values`, records × (1 + channels) of 64 bits, whose first column is the time in s; `names` and `units` of its columns.
//
// Ranks need no parallel HDF5: the library makes the head of the file in memory, and the values lie behind it as they would in a
// file of its own, contiguous, so that all ranks write them as they write COMTRADE.
#pragma once
#include "waveforms/record_layout.hpp"

namespace emt {

/// Throws std::runtime_error when this program is built without the HDF5 library, or when the library puts something behind the values.
[[nodiscard]] RecordLayout hdf5_layout(const std::vector<Column>& columns, const Sampling& sampling);

}  // namespace emt
