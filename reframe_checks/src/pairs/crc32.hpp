// The checksum of zlib, gzip and PNG (ISO 3309, reflected polynomial 0xedb88320).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace measure::pairs {

class Crc32 {
  public:
    void add(std::span<const std::byte> bytes) {
        for (const std::byte byte : bytes) {
            state_ = kTable[(state_ ^ static_cast<std::uint32_t>(byte)) & 0xffU] ^ (state_ >> 8U);
        }
    }
    [[nodiscard]] std::uint32_t value() const { return ~state_; }

  private:
    static constexpr std::array<std::uint32_t, 256> kTable = [] {
        std::array<std::uint32_t, 256> table{};
        for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
            std::uint32_t bits = byte;
            for (int bit = 0; bit < 8; ++bit) {
                bits = (bits >> 1U) ^ ((bits & 1U) != 0 ? 0xedb88320U : 0U);
            }
            table[byte] = bits;
        }
        return table;
    }();
    std::uint32_t state_ = 0xffffffffU;
};

}  // namespace measure::pairs
