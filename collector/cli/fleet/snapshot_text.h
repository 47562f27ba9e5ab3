#pragma once
/* Snapshots of a fleet as text. */
#include <stddef.h>
#include <stdint.h>

#include "collector/catalogue/snapshots.h"

/* Writes a time of day, "2026-11-30 07:00:00", into `out`. */
const char *snapshot_date(char *out, size_t size, uint64_t wall_ns);
/* Prints what is in use in all, and how far the clocks are apart. */
void snapshot_print_summary(const struct snapshot *snapshot);
/* Prints a line for each process that is missing. */
void snapshot_print_missing(const struct snapshot *snapshot);
/* Prints a line for each process whose recording lacked something, up to some. */
void snapshot_print_incomplete(const struct snapshot *snapshot);
/* Prints the processes as a table. */
void snapshot_print_processes(const struct snapshot *snapshot);
