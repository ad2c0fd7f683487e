/* Rank 0 sends to rank 1; prints the microseconds. Rank 2, if there is one, meanwhile sends three times as much to 3. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int bytes = atoi(argv[argc - 1]) * (rank < 2 ? 1 : 3);
  char *data = calloc(bytes, 1);
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  if (rank % 2 == 0)
    MPI_Send(data, bytes, MPI_BYTE, rank + 1, 0, MPI_COMM_WORLD);
  else
    MPI_Recv(data, bytes, MPI_BYTE, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 0)
    printf("%.9f\n", (MPI_Wtime() - start) * 1e6);
  free(data);
  MPI_Finalize();
  return 0;
}
