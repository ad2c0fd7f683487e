// Common parts of the measurements of MPI: request and answer, alternation of two methods, repeats in the result.
#pragma once

#include <vector>

#include "common/payload.hpp"
#include "common/run.hpp"

namespace measure::mpi {

// Tags between two ranks: rank 0 asks, the other rank answers.
constexpr int kAskTag = 1;
constexpr int kAnswerTag = 2;

// Returns the seconds until the answer of `partner` arrives. Posts its receive from `source` (the partner or
// MPI_ANY_SOURCE), then sends an empty message as request. Compares the answer with its label.
inline double ask(int partner, int source, std::vector<char>& answer, const Label& label) {
    MPI_Request request = MPI_REQUEST_NULL;
    const double start = now();
    MPI_Irecv(answer.data(), static_cast<int>(answer.size()), MPI_BYTE, source, kAnswerTag, MPI_COMM_WORLD, &request);
    MPI_Send(nullptr, 0, MPI_BYTE, partner, kAskTag, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    const double seconds = now() - start;
    require(answer, label);
    return seconds;
}

// The other side: prepares the answer before the request arrives.
inline void answer(int partner, std::vector<char>& message, const Label& label) {
    fill(message, label);
    MPI_Recv(nullptr, 0, MPI_BYTE, partner, kAskTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(message.data(), static_cast<int>(message.size()), MPI_BYTE, partner, kAnswerTag, MPI_COMM_WORLD);
}

// Writes the document of a repeated measurement: the facts, among them `series`.
inline void write_repeats(const Run& run, json facts) {
    facts["repeats"] = run.options().repeats;
    run.write(facts, {"series"});
}

// Runs both of two methods, in alternating order, so that a slow moment affects both.
template <typename Act>
void in_turns(int iteration, const Act& act) {
    const int first = iteration % 2;
    act(first);
    act(1 - first);
}

}  // namespace measure::mpi
