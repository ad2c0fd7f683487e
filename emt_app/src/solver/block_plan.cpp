#include "solver/block_plan.hpp"

#include <algorithm>

namespace emt {

int constant_rows(const BlockSlot& slot, BlockPart part) {
    if (!slot.has(part)) return 0;
    switch (part) {
        case kSum: return 1 + slot.inputs;
        case kBias: return slot.inputs;
        case kRamp:
        case kSine:
        case kComparison: return 3;
        case kTable: return 3 + 2 * slot.breaks;
        case kFiring: return 7;
        case kHold:
        case kClip: return 2;
        case kRate:
        case kPrediction: return 0;
        default: return 1;
    }
}

BlockPlan::BlockPlan(std::span<const Task* const> lanes) : lanes_(lanes.begin(), lanes.end()) {
    for (const Task* task : lanes_) {
        slots_.resize(std::max(slots_.size(), task->blocks.size()));
        for (std::size_t s = 0; s < task->blocks.size(); ++s) {
            const Block& block = task->blocks[s];
            slots_[s].parts |= block.parts();
            slots_[s].inputs = std::max(slots_[s].inputs, block.inputs);
            slots_[s].breaks = std::max(slots_[s].breaks, static_cast<int>(block.table_x.size()) - 2);
        }
    }
    const auto take = [](int& next, int rows) {
        const int first = next;
        next += rows;
        return first;
    };
    for (BlockSlot& slot : slots_) {
        for (int p = 0; p < kBlockParts; ++p) slot.constant[p] = take(constant_rows_, constant_rows(slot, static_cast<BlockPart>(p)));
        slot.history = take(state_rows_, slot.has(kFilter) ? 1 : 0);
        slot.rate = take(state_rows_, slot.has(kRate) ? 2 : 0);
        slot.on = take(state_rows_, slot.has(kComparison) ? 1 : 0);
        slot.prediction = take(state_rows_, slot.has(kPrediction) ? 1 : 0);
        slot.filter_step = take(step_rows_, slot.has(kFilter) ? 2 : 0);
        slot.rate_step = take(step_rows_, slot.has(kRate) ? 2 : 0);
    }
}

void BlockPlan::tell(BlockRows& rows) const {
    rows.count = static_cast<int>(slots_.size());
    rows.slot = slots_.data();
    rows.state_rows = state_rows_;
    rows.constant_rows = constant_rows_;
    rows.step_rows = step_rows_;
}

}  // namespace emt
