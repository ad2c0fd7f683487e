// Parts and rows of the slots of a batch's blocks.
#pragma once
#include <span>
#include <vector>

#include "network/tasks.hpp"

namespace emt {

class BlockPlan {
public:
    /// Slot k has the k-th block of each task that has more than k blocks.
    explicit BlockPlan(std::span<const Task* const> lanes);
    /// Passes the plan to the kernels' structure, before the layout of its rows.
    void tell(BlockRows& rows) const;
    /// Sets the blocks' inputs. `place(lane, block, input)`: row of a signal, as an offset from NodeRows::signals.
    template <class Place>
    void connect(Place&& place) {
        for (BlockSlot& slot : slots_) {
            const auto s = static_cast<std::size_t>(&slot - slots_.data());
            for (int k = 0; k < slot.inputs; ++k) {
                const std::size_t owner = lane_with(s, k);
                const int first = static_cast<int>(index_.size());
                for (std::size_t l = 0; l < kLanes; ++l) {
                    // Lanes without this input read the input of the first lane that has it: their weight is zero.
                    const std::size_t from = l < lanes_.size() && has(l, s, k) ? l : owner;
                    index_.push_back(place(from, lanes_[from]->blocks[s], k) + static_cast<int>(l) - static_cast<int>(from));
                    if (index_.back() != index_[static_cast<std::size_t>(first)] + static_cast<int>(l)) slot.gathered |= 1U << k;
                }
            }
        }
        const int* offset = index_.data();
        for (BlockSlot& slot : slots_) {
            slot.offset = offset;
            offset += slot.inputs * kLanes;
        }
    }
    [[nodiscard]] std::size_t bytes() const { return slots_.size() * sizeof(BlockSlot) + index_.size() * sizeof(int); }

private:
    [[nodiscard]] bool has(std::size_t lane, std::size_t slot, int input) const {
        return slot < lanes_[lane]->blocks.size() && input < lanes_[lane]->blocks[slot].inputs;
    }
    [[nodiscard]] std::size_t lane_with(std::size_t slot, int input) const {
        std::size_t lane = 0;
        while (!has(lane, slot, input)) ++lane;
        return lane;
    }

    std::vector<const Task*> lanes_;
    std::vector<BlockSlot> slots_;
    std::vector<int> index_;
    int state_rows_ = 0, constant_rows_ = 0, step_rows_ = 0;
};

/// Returns the number of constant rows of a part of a slot.
[[nodiscard]] int constant_rows(const BlockSlot& slot, BlockPart part);

}  // namespace emt
