// Half round trip between two ranks for one message size. Usage: mpirun -n 2 emt_pingpong BYTES; prints the median in us.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0, size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int bytes = argc == 2 ? std::atoi(argv[1]) : -1;
    if (size != 2 || bytes < 0) {
        if (rank == 0) std::fprintf(stderr, "usage: mpirun -n 2 emt_pingpong BYTES\n");
        MPI_Finalize();
        return 1;
    }
    std::vector<char> buffer(static_cast<std::size_t>(bytes) + 1);
    std::vector<double> times;
    for (int block = 0; block < 200; ++block) {
        constexpr int kTrips = 200;
        const double start = MPI_Wtime();
        for (int i = 0; i < kTrips; ++i) {
            if (rank == 0) MPI_Send(buffer.data(), bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(buffer.data(), bytes, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (rank == 1) MPI_Send(buffer.data(), bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
        }
        times.push_back((MPI_Wtime() - start) * 1e6 / (2 * kTrips));
    }
    std::sort(times.begin(), times.end());
    if (rank == 0) std::printf("%.4f\n", times[times.size() / 2]);
    MPI_Finalize();
}
