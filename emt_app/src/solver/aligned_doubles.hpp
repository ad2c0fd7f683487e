// Zeroed doubles on a cache-line boundary.
#pragma once
#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

namespace emt {

class AlignedDoubles {
public:
    explicit AlignedDoubles(std::size_t size = 0)
        : data_(static_cast<double*>(::operator new[](std::max<std::size_t>(size, 8) * sizeof(double), std::align_val_t{64}))), size_(size) {
        std::fill_n(data_.get(), size, 0.0);
    }
    AlignedDoubles(const AlignedDoubles& o) : AlignedDoubles(o.size_) { assign(o); }
    AlignedDoubles(AlignedDoubles&&) noexcept = default;
    AlignedDoubles& operator=(AlignedDoubles&&) noexcept = default;
    /// Copies another array of the same size.
    void assign(const AlignedDoubles& o) { std::memcpy(data_.get(), o.data_.get(), size_ * sizeof(double)); }
    [[nodiscard]] double* data() const { return data_.get(); }
    [[nodiscard]] std::size_t size() const { return size_; }

private:
    struct Free {
        void operator()(double* p) const { ::operator delete[](p, std::align_val_t{64}); }
    };
    std::unique_ptr<double[], Free> data_;
    std::size_t size_ = 0;
};

}  // namespace emt
