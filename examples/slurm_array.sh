#!/usr/bin/env bash
# One task of a SLURM array runs one shard of an audit (docs/scale.md). Planned with --shards 32:
#
#   shard="sbatch --parsable --mem=$(cat run/shard-memory.txt) --array=1-32"
#   merge="sbatch --parsable --mem=$(cat run/merge-memory.txt)"
#   counts=$($shard slurm_array.sh run/ 32)
#   found=$($merge --dependency=afterany:$counts --wrap "parivox shards merge run/ --out audit/")
#   tallies=$($shard --dependency=afterok:$found slurm_array.sh run/ 32)
#   $merge --dependency=afterany:$tallies --wrap "parivox shards merge run/ --out audit/"
#
# Tasks that failed or were killed: the same lines again, as --array=7,19 if you like; the number of
# shards stays 32, that of the plan. Run it where `parivox` is in the PATH, from the folder of run/.
#SBATCH --job-name=parivox
#SBATCH --cpus-per-task=1
#SBATCH --time=02:00:00
#SBATCH --requeue
set -euo pipefail
: "${2:?give the folder of the plan and its number of shards: slurm_array.sh run/ 32}"
export POLARS_MAX_THREADS=1 OPENBLAS_NUM_THREADS=1
exec parivox shards run "$1" --shard "${SLURM_ARRAY_TASK_ID:?is not set: submit this with sbatch --array}/$2"
