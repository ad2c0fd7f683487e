// Primitives: every element is lowered to them before the solution. The kinds of table.inc, and six more with a special
// role in the program: conductances and reactances merge, switches and piecewise elements change the matrix, lines
// divide the network into tasks, blocks have no node. Units are SI; kGround is the reference node.
#pragma once
#include "primitives/block.hpp"
#include "primitives/line.hpp"
#include "primitives/piecewise.hpp"
#include "primitives/reactance.hpp"
#include "primitives/switch.hpp"

#define EMT_PRIMITIVE(Type, list)
#include "primitives/table.inc"

namespace emt {

/// Lists of the primitives of a network or a task.
struct Primitives {
    std::vector<Conductance> conductances;
    std::vector<Switch> switches;
    std::vector<Piecewise> piecewise;
    std::vector<Block> blocks;
#define EMT_PRIMITIVE(Type, list) std::vector<Type> list;
#include "primitives/table.inc"
};

/// Calls visit(&Primitives::list) for each kind of the table.
template <class Visit>
void for_each_kind(Visit&& visit) {
#define EMT_PRIMITIVE(Type, list) visit(&Primitives::list);
#include "primitives/table.inc"
}
/// Calls visit for every list of primitives with nodes.
template <class Visit>
void for_each_list(Visit&& visit) {
    visit(&Primitives::conductances);
    visit(&Primitives::switches);
    visit(&Primitives::piecewise);
    for_each_kind(visit);
}

/// Elements of a list.
template <class T>
using ElementOf = typename std::remove_cvref_t<T>::value_type;
template <class T>
inline constexpr std::size_t kTerminals = std::tuple_size_v<decltype(T::node)>;

/// Calls visit(list) for the kinds that enter the nodal equations after conductances and reactances and before lines, in
/// the order of their sums.
template <class Visit>
void in_matrix_order(const Primitives& lists, Visit&& visit) {
    const auto kinds = [&]<bool two>() {
        for_each_kind([&](auto list) {
            if constexpr ((kTerminals<ElementOf<decltype(lists.*list)>> == 2) == two) visit(lists.*list);
        });
    };
    kinds.template operator()<true>();
    visit(lists.switches);
    visit(lists.piecewise);
    kinds.template operator()<false>();
}

/// Calls visit(waveform) for every source.
template <class Visit>
void for_each_source(const Primitives& lists, Visit&& visit) {
    for_each_kind([&](auto list) {
        for (const auto& e : lists.*list)
            if constexpr (requires { e.sources(); })
                for (const Waveform* w : e.sources()) visit(*w);
    });
}

}  // namespace emt
