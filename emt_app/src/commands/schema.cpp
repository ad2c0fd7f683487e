#include <cstdio>

#include "case/schema.hpp"
#include "commands/commands.hpp"

namespace emt {

int schema_command() {
    std::printf("%s\n", case_schema().dump(2).c_str());
    return 0;
}

}  // namespace emt
