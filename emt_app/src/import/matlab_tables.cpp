#include "import/matlab_tables.hpp"

#include "base/diagnostics.hpp"
#include "import/matlab_program.hpp"

namespace emt {

MatlabTables read_matlab_tables(const std::string& text, const std::string& of, const std::string& origin) {
    constexpr std::size_t kBytes = 64 << 20;
    if (text.size() > kBytes) throw CaseError(origin + ": has more than " + std::to_string(kBytes >> 20) + " MiB\n");
    const MatlabVariables variables = run_matlab(text, origin);
    const std::string name = variables.result.empty() ? of : variables.result;
    const auto it = variables.value.find(name);
    if (it == variables.value.end() || it->second.kind != MatlabValue::Kind::structure) throw CaseError(origin + ": gives no structure '" + name + "'\n");
    MatlabTables out;
    for (const auto& [member, value] : it->second.member) {
        if (value.kind == MatlabValue::Kind::text) out.text[member] = value.text;
        if (!value.is_matrix()) continue;
        if (value.scalar()) out.number[member] = value.number[0];
        std::vector<TableRow>& rows = out.table[member];
        for (std::size_t i = 0; i < value.rows && value.columns > 0; ++i) {
            const auto begin = value.number.begin() + static_cast<std::ptrdiff_t>(i * value.columns);
            rows.push_back({value.line.empty() ? 0 : value.line[i], {begin, begin + static_cast<std::ptrdiff_t>(value.columns)}});
        }
    }
    return out;
}

}  // namespace emt
