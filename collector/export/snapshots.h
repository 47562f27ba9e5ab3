#pragma once
/* Snapshots of a fleet as JSON, and sums that every renderer of them shows. */
#include <stddef.h>
#include <stdint.h>

#include "collector/query/query.h"
#include "collector/catalogue/snapshots.h"

struct answer;
struct json;

struct usage snapshot_member_usage(const struct snapshot_member *member);
/* Of all that are in it. */
struct usage snapshot_total(const struct snapshot *snapshot);
/* Between the first and the last marker, each by its own host's clock: what the hosts' clocks
 * differ by is in it. */
uint64_t snapshot_spread_ns(const struct snapshot *snapshot);
size_t snapshot_hosts(const struct snapshot *snapshot); /* of those that are in it */

/* The members of an object that the caller has opened. */
extern const struct answer snapshot_answer;
void json_snapshot(struct json *json, const struct snapshot *snapshot);
