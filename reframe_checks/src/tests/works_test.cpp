#include <gtest/gtest.h>

#include <bit>
#include <set>

#include "bits/cipher_map.hpp"
#include "bits/cores.hpp"
#include "bits/dense.hpp"
#include "bits/digest.hpp"
#include "bits/memory_walk.hpp"

namespace measure::bits {

struct Planted {
    static auto& left(CipherMap& map) { return map.left_; }
    static auto& right(CipherMap& map) { return map.right_; }
    static const auto& c(const Dense& dense) { return dense.c_; }
};

namespace {

std::uint64_t digest_of(Work& work) { return round_of(work, [] {}); }

TEST(Works, EveryRoundOfAVariantEndsWithTheSameBitsAndEveryVariantWithOthers) {
    std::set<std::uint64_t> seen;
    for (std::uint64_t variant = 0; variant < 3; ++variant) {
        Dense dense(*find_dense_kernel("auto"), variant);
        CipherMap map(variant);
        MemoryWalk walk(variant, 2, 4096);
        for (Work* work : {static_cast<Work*>(&dense), static_cast<Work*>(&map), static_cast<Work*>(&walk)}) {
            const std::uint64_t first = digest_of(*work);
            EXPECT_EQ(digest_of(*work), first) << work->name();
            EXPECT_EQ(digest_of(*work), first) << work->name();
            EXPECT_TRUE(seen.insert(first).second) << work->name();
        }
    }
}

TEST(Works, WidthsOfVectorsThatFuseGiveTheSameBits) {
    std::map<std::string, std::set<std::uint64_t>> of_basis;
    for (const char* isa : {"portable", "avx2", "avx512"}) {
        if (const DenseKernel* kernel = find_dense_kernel(isa); kernel != nullptr) {
            EXPECT_STREQ(kernel->name, isa);
            Dense dense(*kernel, 0);
            of_basis[kernel->basis].insert(digest_of(dense));
        }
    }
    for (const auto& [basis, digests] : of_basis) {
        EXPECT_EQ(digests.size(), 1) << basis;
    }
}

TEST(Works, ElementsOfADenseMatrixKeepTheirExponent) {
    for (std::uint64_t variant = 0; variant < 8; ++variant) {
        Dense dense(*find_dense_kernel("auto"), variant);
        round_of(dense, [&dense] {
            for (const double element : Planted::c(dense)) {
                ASSERT_TRUE(element > 1 && element < 2);
            }
        });
    }
}

TEST(Works, TheMapMovesOneBitIntoHalfOfAll) {
    for (const std::size_t word : {0U, 100U, 255U}) {
        CipherMap right(0), wrong(0);
        right.begin();
        wrong.begin();
        Planted::left(wrong)[word] ^= 1U << 5U;
        right.advance();
        wrong.advance();
        int differ = 0;
        for (std::size_t i = 0; i < Planted::left(right).size(); ++i) {
            differ += std::popcount(Planted::left(right)[i] ^ Planted::left(wrong)[i]);
            differ += std::popcount(Planted::right(right)[i] ^ Planted::right(wrong)[i]);
        }
        EXPECT_NEAR(differ, 512 * 64 / 2, 600);  // of 32,768 bits; the deviation of as many coins is 91
    }
}

TEST(Works, ADigestDependsOnOrder) {
    std::set<std::uint64_t> seen;
    for (std::size_t place = 0; place < 32; ++place) {
        std::vector<std::uint64_t> words(32);
        words[place] = 1;
        Digest digest;
        digest.absorb(std::span<const std::uint64_t>(words));
        EXPECT_TRUE(seen.insert(digest.value()).second);
    }
}

}  // namespace

}  // namespace measure::bits
