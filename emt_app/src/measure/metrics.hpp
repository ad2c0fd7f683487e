// The paper's quality metrics of a parallel run (Le-Huy, Guérette, Guay, IPST 2023, section II).
#pragma once

namespace emt {

struct Metrics {
    double kappa_us;     // κ′ = T - σ - φ/p, eqs. (2) and (6)
    double speedup;      // ψ = (σ + φ)/T, eq. (5)
    double efficiency;   // η = ψ/p, eq. (7)
    double karp_flatt;   // e = (1/ψ - 1/p)/(1 - 1/p); not defined (0) for one rank
};

/// Karp and Flatt, "Measuring parallel processor performance", CACM 33(5), 1990. Equation (8) of the paper prints
/// (1 - 1/ψ)/(1 - 1/p) instead; its own plateaus fit only the definition used here.
[[nodiscard]] inline Metrics metrics(double sigma_us, double phi_us, double step_us, int ranks) {
    const double p = ranks;
    Metrics m{};
    m.kappa_us = step_us - sigma_us - phi_us / p;
    m.speedup = (sigma_us + phi_us) / step_us;
    m.efficiency = m.speedup / p;
    m.karp_flatt = ranks > 1 ? (1 / m.speedup - 1 / p) / (1 - 1 / p) : 0;
    return m;
}

}  // namespace emt
