/* Rank 0 sends to each other rank and back; a line for each: rank, bytes, microseconds of one way. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { REPEATS = 100 };

int main(int argc, char **argv)
{
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int other = 1; other < ranks; ++other)
    for (int argument = 1; argument < argc; ++argument) {
      const int bytes = atoi(argv[argument]);
      char *data = calloc(bytes, 1);
      MPI_Barrier(MPI_COMM_WORLD);
      const double start = MPI_Wtime();
      for (int repeat = 0; repeat < REPEATS; ++repeat) {
        if (rank == 0) {
          MPI_Send(data, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD);
          MPI_Recv(data, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (rank == other) {
          MPI_Recv(data, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
          MPI_Send(data, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        }
      }
      if (rank == 0)
        printf("%d %d %.9f\n", other, bytes, (MPI_Wtime() - start) / (2 * REPEATS) * 1e6);
      free(data);
    }
  MPI_Finalize();
  return 0;
}
