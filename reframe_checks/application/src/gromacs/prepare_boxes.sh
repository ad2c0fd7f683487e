#!/bin/bash
# prepare_boxes.sh STEPS NAME:X:Y:Z…: write NAME.tpr, mdrun's input: X x Y x Z boxes of GROMACS's 216 water molecules.
set -euo pipefail

steps=$1 edge=1.86206  # nm
shift
gmx_mpi solvate -cs spc216.gro -box "$edge" "$edge" "$edge" -o box.gro
{ cat water.mdp; echo "nsteps = $steps"; } > run.mdp
for words; do
    IFS=: read -r name x y z <<< "$words"
    gmx_mpi genconf -f box.gro -nbox "$x" "$y" "$z" -o "$name.gro"
    cat > "$name.top" <<TOPOLOGY
#include "oplsaa.ff/forcefield.itp"
#include "oplsaa.ff/spc.itp"
[ system ]
water
[ molecules ]
SOL $((216 * x * y * z))
TOPOLOGY
    gmx_mpi grompp -f run.mdp -c "$name.gro" -p "$name.top" -o "$name.tpr" -po "$name.mdp"
done
