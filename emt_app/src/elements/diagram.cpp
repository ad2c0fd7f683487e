#include "elements/diagram.hpp"

namespace emt {

BlockDraft::BlockDraft(Block::Operation operation, const Terms& terms) {
    block.operation = operation;
    block.inputs = static_cast<int>(terms.size());
    for (std::size_t k = 0; k < terms.size(); ++k) {
        block.weight[k] = terms[k].first;
        block.reads[k] = terms[k].second;
    }
}

BlockDraft BlockDraft::filter(double b0, double b1, double a0, double a1) && {
    block.filter = {b0, b1, a0, a1};
    return std::move(*this);
}

BlockDraft BlockDraft::bounded(Block::Limits& limits, const Bound& low, const Bound& high) && {
    limits = {low.value, high.value};
    for (const Bound& bound : {low, high})
        if (!bound.name.empty()) block.bounds += (block.bounds.empty() ? "'" : " and '") + std::string(bound.name) + "'";
    return std::move(*this);
}

BlockDraft BlockDraft::rates(double down, double up) && {
    block.rate_down = down;
    block.rate_up = up;
    return std::move(*this);
}

BlockDraft BlockDraft::constant(double value) && {
    block.constant = value;
    return std::move(*this);
}

int Diagram::add_as(const std::string& name, BlockDraft draft) {
    Block& block = draft.block;
    block.name = name;
    block.element = element_;
    block.publishes[0] = net_.signals.make(name, element_);
    net_.blocks.push_back(std::move(block));
    return net_.blocks.back().publishes[0];
}

BlockDraft sum(const BlockDraft::Terms& terms) { return {Block::Operation::sum, terms}; }
BlockDraft gain(double k, int signal) { return {Block::Operation::sum, {{k, signal}}}; }
BlockDraft product(double k, int a, int b) { return {Block::Operation::product, {{k, a}, {1, b}}}; }
BlockDraft quotient(double k, int a, int b) { return {Block::Operation::quotient, {{k, a}, {1, b}}}; }
BlockDraft least(int a, int b) { return {Block::Operation::minimum, {{1, a}, {1, b}}}; }
BlockDraft greatest(int a, int b) { return {Block::Operation::maximum, {{1, a}, {1, b}}}; }

BlockDraft look_up(int signal, std::vector<double> x, std::vector<double> y) {
    BlockDraft out(Block::Operation::table, {{1, signal}});
    out.block.table_x = std::move(x);
    out.block.table_y = std::move(y);
    return out;
}

BlockDraft reference(const std::optional<double>& value) {
    BlockDraft out(Block::Operation::sum, {});
    out.block.constant = value.value_or(0);
    out.block.open = !value;
    return out;
}

}  // namespace emt
