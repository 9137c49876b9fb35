#!/usr/bin/env bash
# Runs a program on so many ranks of MPI on this machine, whatever its cores, in at most 900 seconds.
#
#   run.sh MPIEXEC RANKS ok|prints|dying:COUNT PROGRAM...
#
# ok: every rank says so, and exits 0. prints: it exits 0. dying:COUNT: so many say that, and all are ended, not by that limit.
# Exit 77 where mpiexec and the program's MPI do not find each other, and each rank is a world of its own.
set -euo pipefail
mpiexec=$1 ranks=$2 expected=$3
shift 3
# Open MPI's, of release 4 and (PRTE) 5; MPICH has no such questions.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export TARE_RANKS=$ranks OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_plm=isolated OMPI_MCA_btl=self,vader OMPI_MCA_pml=ob1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe

status=0
said=$(timeout 900 "$mpiexec" -n "$ranks" "$@" 2>&1 | tr -d '\0'; exit "${PIPESTATUS[0]}") || status=$?
echo "$said"
[ "$status" -ne 124 ] || { echo "not over after 900 seconds"; exit 1; }
if [[ $said == *'[alone]'* ]]; then
  echo "not run: this mpiexec starts each of its programs alone, as that of Ubuntu 24.04's MPICH 4.2.0 does"
  exit 77
fi
times() { grep -oF "$1" <<<"$said" | wc -l; }  # lines of ranks may run into one another
case $expected in
  ok) [ "$status" -eq 0 ] && [ "$(times '[ok]')" -eq "$ranks" ] ;;
  prints) [ "$status" -eq 0 ] ;;
  *) [ "$status" -ne 0 ] && [ "dying:$(times '[dying]')" = "$expected" ] && [ "$(times '[ok]')" -eq 0 ] ;;
esac
