#pragma once
/* Fleet snapshots as JSON, and the totals that every renderer shows. */
#include <stddef.h>
#include <stdint.h>

#include "collector/query/query.h"
#include "collector/catalogue/snapshots.h"

struct answer;
struct json;

struct usage snapshot_member_usage(const struct snapshot_member *member);
/* Returns the total over all included members. */
struct usage snapshot_total(const struct snapshot *snapshot);
/* Returns the time between the first and the last marker. Each marker carries its own host's clock,
 * so the result includes the offset between the hosts' clocks. */
uint64_t snapshot_spread_ns(const struct snapshot *snapshot);
/* Returns the number of hosts of the included members. */
size_t snapshot_hosts(const struct snapshot *snapshot);
/* Returns how many included members' recordings lacked something. */
size_t snapshot_incomplete(const struct snapshot *snapshot);

/* Describes a snapshot; json_members writes it into an object that the caller has opened. */
extern const struct answer snapshot_answer;
/* Describes what a snapshot had in use by function: struct groups. Sizes and times of blocks, and
 * backtraces, that have the highest number are not known. */
extern const struct answer snapshot_functions_answer;
void json_snapshot(struct json *json, const struct snapshot *snapshot);
