#pragma once
/* What a fleet has in use (collector/fleet/top.h), as JSON: texts and numbers, in an order that the
 * data determine. */
#include "collector/fleet/top.h"

struct answer;
struct json;

extern const struct answer fleet_top_answer;
/* The words of enum fleet_top_by, as options and parameters take them; ends with NULL. */
extern const char *const fleet_top_words[FLEET_TOP_BYS + 1];
/* Writes the members into an object that the caller has opened. Returns 0 or -ENOMEM. */
int json_fleet_top(struct json *json, const struct fleet_top *top);
