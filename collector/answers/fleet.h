#pragma once
/* The comparison of a fleet (collector/fleet/fleet.h) as JSON. */
#include "collector/fleet/fleet.h"

struct answer;
struct buf;
struct json;

/*
 * Describes {"report", "sha256"}. The report has only texts and integers, in an order that its data
 * determine, and no blanks. The digest is SHA-256 of its bytes: `jq -cj .report | sha256sum` gives
 * the same. It is null if libcrypto is missing.
 */
extern const struct answer fleet_answer;
/* An element of "left_out" (fleet/clocks.h). */
extern const struct answer fleet_left_out_answer;
/* Writes the members into an object that the caller has opened. Returns 0 or -ENOMEM. */
int json_fleet(struct json *json, const struct fleet_report *report);
#define FLEET_DIGEST_TEXT 65
/* Writes the digest as digits. Returns "" if libcrypto is missing or memory is short. */
const char *fleet_digest(const struct fleet_report *report, char out[FLEET_DIGEST_TEXT]);
