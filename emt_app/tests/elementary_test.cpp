// The functions of base/elementary.hpp against long double, in units in the last place; their bits on record.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <random>
#include <vector>

#include "base/elementary.hpp"

namespace emt::test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kBoundUlps = 0.9;
constexpr int kSamples = 100000;
constexpr bool kWider = std::numeric_limits<long double>::digits >= 64;

/// Distance in units in the last place of a double of that size.
double ulps(double got, long double right) {
    const double size = std::max(static_cast<double>(std::abs(right)), std::numeric_limits<double>::min());
    const double unit = std::ldexp(1.0, std::ilogb(size) - 52);
    return static_cast<double>(std::abs(static_cast<long double>(got) - right) / static_cast<long double>(unit));
}

/// Returns cosine and sine of 2π·turns. The remainder of whole quarters is exact, and so small that long double's error is 2⁻¹⁰ ulp.
std::array<long double, 2> right_cos_sin(double turns) {
    const long double quarters = std::nearbyint(4 * static_cast<long double>(turns));
    const long double angle = 2 * std::numbers::pi_v<long double> * (static_cast<long double>(turns) - quarters / 4);
    const long double c = std::cos(angle), s = std::sin(angle);
    switch ((static_cast<long long>(quarters) % 4 + 4) % 4) {
        case 0: return {c, s};
        case 1: return {-s, c};
        case 2: return {-c, -s};
        default: return {s, -c};
    }
}

/// Largest error of both over random turns.
template <class Draw>
double worst_cos_sin(Draw&& draw) {
    std::mt19937_64 random(1);
    double worst = 0;
    for (int i = 0; i < kSamples; ++i) {
        const double turns = draw(random);
        const CosSin<double> got = cos_sin(turns);
        const auto [c, s] = right_cos_sin(turns);
        worst = std::max({worst, ulps(got.cos, c), ulps(got.sin, s)});
    }
    return worst;
}

TEST(CosSin, IsWithinItsBoundOfUlps) {
    if (!kWider) GTEST_SKIP() << "long double is no wider than double here";
    for (const double size : {1e-300, 1e-12, 1e-3, 0.125, 1.0, 60.0, 1e3, 1e6, 1e12}) {
        std::uniform_real_distribution<double> uniform(-size, size);
        EXPECT_LT(worst_cos_sin(uniform), kBoundUlps) << "turns up to " << size;
    }
}

TEST(CosSin, IsWithinItsBoundNearMultiplesOfAnEighth) {
    if (!kWider) GTEST_SKIP() << "long double is no wider than double here";
    const auto near = [](std::mt19937_64& random) {
        const double eighth = static_cast<double>(static_cast<std::int64_t>(random() % 1600001) - 800000) / 8;
        return eighth + std::ldexp(static_cast<double>(random() % 2001) - 1000, static_cast<int>(random() % 40) - 60);
    };
    EXPECT_LT(worst_cos_sin(near), kBoundUlps);
}

TEST(CosSin, IsExactAtWholeQuarters) {
    for (const double whole_turns : {0.0, 1.0, -3.0, 1e6, 281474976710656.0 /* 2⁴⁸ */}) {
        const std::array<std::array<double, 2>, 4> right{{{1, 0}, {0, 1}, {-1, 0}, {0, -1}}};
        for (std::size_t quarter = 0; quarter < 4; ++quarter) {
            const CosSin<double> got = cos_sin(whole_turns + 0.25 * static_cast<double>(quarter));
            EXPECT_EQ(got.cos, right[quarter][0]) << whole_turns << " + " << quarter << "/4";
            EXPECT_EQ(got.sin, right[quarter][1]) << whole_turns << " + " << quarter << "/4";
        }
    }
}

TEST(CosSin, OfNoNumberIsNone) {
    for (const double turns : {std::numeric_limits<double>::quiet_NaN(), kInfinity, -kInfinity}) {
        EXPECT_TRUE(std::isnan(cos_sin(turns).cos));
        EXPECT_TRUE(std::isnan(cos_sin(turns).sin));
    }
}

constexpr int kLanes = 8;
using Vec = double __attribute__((vector_size(kLanes * sizeof(double))));

[[gnu::always_inline]] inline void as_vector(const double* turns, double* cos, double* sin) {
    Vec t{};
    for (int l = 0; l < kLanes; ++l) t[l] = turns[l];
    const CosSin<Vec> got = cos_sin(t);
    for (int l = 0; l < kLanes; ++l) {
        cos[l] = got.cos[l];
        sin[l] = got.sin[l];
    }
}

using Eight = void (*)(const double*, double*, double*);
void portable(const double* turns, double* cos, double* sin) { as_vector(turns, cos, sin); }
#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] void avx2(const double* turns, double* cos, double* sin) { as_vector(turns, cos, sin); }
[[gnu::target("avx512f,avx512dq,avx512vl")]] void avx512(const double* turns, double* cos, double* sin) { as_vector(turns, cos, sin); }
#endif

/// The vector form, compiled for each instruction set that the processor has.
std::vector<Eight> vector_forms() {
    std::vector<Eight> forms{portable};
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) forms.push_back(avx2);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) forms.push_back(avx512);
#endif
    return forms;
}

TEST(CosSin, OfVectorsHasTheBitsOfScalars) {
    std::mt19937_64 random(2);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (int i = 0; i < kSamples / kLanes; ++i) {
        std::array<double, kLanes> turns{};
        for (double& t : turns) t = uniform(random) * std::ldexp(1.0, static_cast<int>(random() % 40) - 20);
        turns[0] = static_cast<double>(i) / 8;
        for (const Eight form : vector_forms()) {
            std::array<double, kLanes> c{}, s{};
            form(turns.data(), c.data(), s.data());
            for (std::size_t l = 0; l < kLanes; ++l) {
                const CosSin<double> one = cos_sin(turns[l]);
                ASSERT_EQ(std::bit_cast<std::uint64_t>(c[l]), std::bit_cast<std::uint64_t>(one.cos)) << turns[l];
                ASSERT_EQ(std::bit_cast<std::uint64_t>(s[l]), std::bit_cast<std::uint64_t>(one.sin)) << turns[l];
            }
        }
    }
}

TEST(Whole, RoundsToNearestTiesToEven) {
    const std::array<std::array<double, 2>, 9> cases{{{0.5, 0}, {1.5, 2}, {2.5, 2}, {-0.5, 0}, {-1.5, -2}, {0.49999999999999994, 0}, {-7.6, -8},
                                                      {3e9 + 0.75, 3e9 + 1}, {0x1.fffffffffffffp49, 0x1p50}}};
    for (const auto& [x, right] : cases) EXPECT_EQ(whole(x), right) << x;
}

double worst_exponential(double from, double to) {
    std::mt19937_64 random(3);
    std::uniform_real_distribution<double> uniform(from, to);
    double worst = 0;
    for (int i = 0; i < kSamples; ++i) {
        const double x = uniform(random);
        worst = std::max(worst, ulps(exponential(x), std::exp(static_cast<long double>(x))));
    }
    return worst;
}

TEST(Exponential, IsWithinItsBoundOfUlps) {
    if (!kWider) GTEST_SKIP() << "long double is no wider than double here";
    const std::array<std::array<double, 2>, 8> ranges{{{-708.39, 709.78}, {-745.13, -708.39}, {709, 709.782712893384}, {-40, 0}, {-1, 1},
                                                       {-0.35, 0.35}, {-1e-8, 1e-8}, {-1e-300, 1e-300}}};
    for (const auto& [from, to] : ranges) EXPECT_LT(worst_exponential(from, to), kBoundUlps) << from << " to " << to;
}

TEST(Exponential, AtTheEndsOfItsRange) {
    EXPECT_EQ(exponential(0.0), 1);
    EXPECT_EQ(exponential(-0.0), 1);
    EXPECT_EQ(exponential(kInfinity), kInfinity);
    EXPECT_EQ(exponential(-kInfinity), 0);
    EXPECT_TRUE(std::isnan(exponential(std::numeric_limits<double>::quiet_NaN())));
    EXPECT_EQ(exponential(0x1.62e42fefa39efp+9), 0x1.fffffffffff2ap+1023);  // the largest x whose eˣ is a double
    EXPECT_EQ(exponential(0x1.62e42fefa39f0p+9), kInfinity);
    EXPECT_EQ(exponential(1e300), kInfinity);
    EXPECT_EQ(exponential(-0x1.74910d52d3051p+9), 0x1p-1074);  // the smallest x whose eˣ does not round to 0
    EXPECT_EQ(exponential(-0x1.74910d52d3052p+9), 0);
    EXPECT_EQ(exponential(-1e300), 0);
}

TEST(UnitPhasor, IsCosineAndSine) {
    const std::complex<double> z = unit_phasor(0.3);
    EXPECT_EQ(z, std::complex<double>(cos_sin(0.3).cos, cos_sin(0.3).sin));
}

TEST(Power, IsExactWhereItsProductsAre) {
    EXPECT_EQ(power({3, -4}, 0), std::complex<double>(1, 0));
    EXPECT_EQ(power({2, 0}, 1000), std::complex<double>(0x1p1000, 0));
    EXPECT_EQ(power({1, 1}, 11), std::complex<double>(-32, 32));
    EXPECT_EQ(power({0, -1}, 4003), std::complex<double>(0, 1));
}

TEST(Power, OfUnitPhasorsTurnsThem) {
    for (const int n : {1, 2, 7, 64, 1000}) {
        const std::complex<double> got = power(unit_phasor(60 * 50e-6), n), right = unit_phasor(60 * 50e-6 * n);
        EXPECT_NEAR(std::abs(got - right), 0, 4e-16 * n) << n;
    }
}

struct OnRecord {
    double x, cos, sin;
};

// Results that every processor and compiler must give.
TEST(Elementary, HasTheBitsOnRecord) {
    const std::array<OnRecord, 6> turns{{{0x1.89374bc6a7efap-9, 0x1.ffe8b722921bp-1, 0x1.34d0160a21ae1p-6},
                                         {0x1p-3, 0x1.6a09e667f3bcdp-1, 0x1.6a09e667f3bccp-1},
                                         {0x1.5555555555555p-2, -0x1.ffffffffffffep-2, 0x1.bb67ae8584cabp-1},
                                         {-0x1.6666666666666p-1, -0x1.3c6ef372fe954p-2, 0x1.e6f0e134454ffp-1},
                                         {0x1.d9489a585b60dp+2, -0x1.94ab9fd820f88p-1, 0x1.39aa4ae66120ep-1},
                                         {0x1.e240c9fbe76c9p+16, 0x1.f0d7dd934f751p-3, -0x1.f0b46ee9c0d0ep-1}}};
    for (const OnRecord& r : turns) {
        EXPECT_EQ(cos_sin(r.x).cos, r.cos) << r.x;
        EXPECT_EQ(cos_sin(r.x).sin, r.sin) << r.x;
    }
    const std::array<std::array<double, 2>, 7> powers{{{1, 0x1.5bf0a8b14576ap+1},
                                                       {-1, 0x1.78b56362cef38p-2},
                                                       {-0x1.f9add3739635fp-4, 0x1.c48946a8fcf96p-1},
                                                       {0x1.62e42fefa39efp-2, 0x1.6a09e667f3bccp+0},
                                                       {-36, 0x1.0b6c3afdde064p-52},
                                                       {700.5, 0x1.8625c7d4f56c2p+1010},
                                                       {-744, 0x1p-1073}}};
    for (const auto& [x, right] : powers) EXPECT_EQ(exponential(x), right) << x;
}

}  // namespace
}  // namespace emt::test
