#include "measure/alike.hpp"

#include <Eigen/Core>

namespace emt {

std::string basis_of_bits() {
    return "Eigen " + std::to_string(EIGEN_WORLD_VERSION) + "." + std::to_string(EIGEN_MAJOR_VERSION) + "." +
           std::to_string(EIGEN_MINOR_VERSION);
}

}  // namespace emt
