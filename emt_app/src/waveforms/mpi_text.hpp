// An MPI library's text for one of its statuses.
#pragma once
#include <mpi.h>

#include <string>

namespace emt {

[[nodiscard]] inline std::string mpi_text(int status) {
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(status, text, &length);
    return {text, static_cast<std::size_t>(length)};
}

}  // namespace emt
