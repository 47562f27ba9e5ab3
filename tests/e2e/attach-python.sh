#!/bin/bash
# ctest: LABELS full
# A python3 that is attached to, with every object from malloc: its call chains and numbers are those that libheapcast.so records.
. "$(dirname "$0")/lib-compare.sh"
export PYTHONMALLOC=malloc PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1
work=(python3 -c 'import os, runpy, sys; os.read(0, 1); runpy.run_path(sys.argv[1], run_name="__main__")' "$TEST_SOURCE/data/work.py")

# What its import system finds in folders, and what is freed at its end in which order, depends on the moment.
both 7 "${work[@]}"
compare full preloaded.heapcast attached.heapcast 0.01

once_attached sampled.heapcast 7 --mode sample=32K -- "${work[@]}"
compare sampled preloaded.heapcast 32768 sampled.heapcast
