#include "network/block_order.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>

namespace emt {
namespace {

class BlockOrder {
public:
    explicit BlockOrder(std::vector<Block>& blocks) : blocks_(blocks), readers_(blocks.size()), waits_for_(blocks.size()), done_(blocks.size()) {
        for (std::size_t b = 0; b < blocks.size(); ++b) maker_[blocks[b].publishes[0]] = b;
        for (std::size_t b = 0; b < blocks.size(); ++b)
            for (const int signal : blocks[b].reads)
                if (const auto it = maker_.find(signal); signal != kNoSignal && it != maker_.end()) {
                    readers_[it->second].push_back(b);
                    ++waits_for_[b];
                }
    }
    std::vector<std::string> run() {
        for (std::size_t b = 0; b < blocks_.size(); ++b)
            if (waits_for_[b] == 0) ready_.push(b);
        std::vector<Block> sorted;
        while (sorted.size() < blocks_.size()) {
            if (ready_.empty()) {
                const std::vector<std::size_t> loop = find_loop();
                const auto closes = std::find_if(loop.begin(), loop.end(), [&](std::size_t b) { return blocks_[b].closes_loops(); });
                if (closes == loop.end()) return names(loop);
                blocks_[*closes].predicts = true;
                release(*closes);
                continue;
            }
            const std::size_t b = ready_.top();
            ready_.pop();
            mark_early(blocks_[b]);
            done_[b] = true;
            if (!blocks_[b].predicts) release(b);
            sorted.push_back(blocks_[b]);
        }
        blocks_ = std::move(sorted);
        return {};
    }

private:
    void release(std::size_t maker) {
        for (const std::size_t reader : readers_[maker])
            if (--waits_for_[reader] == 0) ready_.push(reader);
    }
    void mark_early(Block& block) const {
        for (std::size_t k = 0; k < kBlockInputs; ++k)
            if (const auto it = maker_.find(block.reads[k]); block.reads[k] != kNoSignal && it != maker_.end()) block.early[k] = !done_[it->second];
    }
    /// Returns the blocks of a loop in ascending order. Every remaining block waits for another one, so going back from
    /// any of them ends in a loop.
    [[nodiscard]] std::vector<std::size_t> find_loop() const {
        std::vector<std::size_t> path;
        std::size_t b = static_cast<std::size_t>(std::find(done_.begin(), done_.end(), false) - done_.begin());
        for (; std::find(path.begin(), path.end(), b) == path.end(); b = awaited(b)) path.push_back(b);
        path.erase(path.begin(), std::find(path.begin(), path.end(), b));
        std::sort(path.begin(), path.end());
        return path;
    }
    [[nodiscard]] std::size_t awaited(std::size_t reader) const {
        for (const int signal : blocks_[reader].reads)
            if (const auto it = maker_.find(signal); signal != kNoSignal && it != maker_.end() && !done_[it->second] && !blocks_[it->second].predicts)
                return it->second;
        return reader;
    }
    [[nodiscard]] std::vector<std::string> names(const std::vector<std::size_t>& loop) const {
        std::vector<std::string> out;
        for (const std::size_t b : loop) out.push_back(blocks_[b].name);
        return out;
    }

    std::vector<Block>& blocks_;
    std::unordered_map<int, std::size_t> maker_;
    std::vector<std::vector<std::size_t>> readers_;  // of each block
    std::vector<int> waits_for_;
    std::vector<bool> done_;
    std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready_;
};

}  // namespace

std::vector<std::string> order_blocks(std::vector<Block>& blocks) { return BlockOrder(blocks).run(); }

}  // namespace emt
