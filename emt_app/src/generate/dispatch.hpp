// Which machine of the main grid delivers how much: loads are served by the nearest machines that have something left, so that
// little flows far.
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

/// What each supply delivers, MW, so that the loads (by station, MW) are served as long as anything is left. The first supply
/// serves what is nearest to it before the others do.
[[nodiscard]] std::vector<double> dispatch(const std::vector<Supply>& supplies, std::vector<double> load_mw, const std::vector<Corridor>& corridors);

}  // namespace emt
