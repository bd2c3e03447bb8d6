#!/usr/bin/env bash
# One task of an SGE array runs one part of an audit (docs/scale.md). Planned with --shards 32:
#
#   shard="qsub -l mem_free=$(cat run/shard-memory.txt) -t 1-32"
#   merge="qsub -l mem_free=$(cat run/merge-memory.txt) -cwd -V -b y"
#   $shard -N counts sge_array.sh run/ 32
#   $merge -N found -hold_jid counts parivox shards merge run/ --out audit/
#   $shard -N tallies -hold_jid found sge_array.sh run/ 32
#   $merge -N merged -hold_jid tallies parivox shards merge run/ --out audit/
#
# Where h_vmem limits memory, add 4G to it: it counts addresses that are reserved but not used.
#
# Tasks that failed or were killed: the same lines again, as -t 7-7 if you like; the number of shards
# stays 32, that of the plan. Run it where `parivox` is in the PATH, from the folder of run/.
#$ -cwd
#$ -V
#$ -r y
#$ -S /bin/bash
set -euo pipefail
: "${2:?give the folder of the plan and its number of shards: sge_array.sh run/ 32}"
if [ "${SGE_TASK_ID:-undefined}" = undefined ]; then
    echo "SGE_TASK_ID is not set: submit this with qsub -t" >&2
    exit 2
fi
export POLARS_MAX_THREADS=1 OPENBLAS_NUM_THREADS=1
exec parivox shards run "$1" --shard "$SGE_TASK_ID/$2"
