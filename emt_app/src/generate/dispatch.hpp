// Power of each machine of the main grid: the nearest machines with a reserve serve a load, so that little power flows
// far.
#pragma once
#include <cstddef>
#include <vector>

namespace emt {

struct Corridor {
    std::size_t from, to;  // stations
    double km;
};

struct Supply {
    std::size_t station;
    double most_mw;
};

/// Returns the power of each supply, MW, that serves the loads (by station, MW) as far as reserves suffice. The first
/// supply serves its nearest loads before the others do.
[[nodiscard]] std::vector<double> dispatch(const std::vector<Supply>& supplies, std::vector<double> load_mw, const std::vector<Corridor>& corridors);

}  // namespace emt
