#pragma once
/* What the parts of `collector fleet` share: its options, and where it reads from. */
#include <stdint.h>

#include "collector/cli/ask/symbol_sources.h"
#include "collector/cli/command.h"

struct err_text;
struct fleet_clocks;
struct fleet_source;
struct site_rules;

#define FLEET_COUNT_DEFAULT UINT64_MAX /* --count was not given */

struct fleet_options {
	struct common_options common;
	struct symbol_choice symbols;
	uint64_t count, last_ns, step_ns;
	const char *fail_if, *align, *by, *hide_rules, *store;
	const char *top, *at;
};

/* Opens the recordings, or the shared store, and asks. Returns what `ask` does, or another negative
 * errno with a sentence. */
int fleet_source_ask(const struct fleet_options *options,
		     int (*ask)(const struct fleet_source *source, const struct fleet_options *o,
				const struct site_rules *rules, void *ret, struct err_text *err),
		     void *ret, struct err_text *err);
/* For struct fleet_question and struct fleet_top_question. */
void fleet_progress(void *context, uint64_t done, uint64_t of);
/* "2026-11-30 14:05", with seconds if it has any. Returns `out`. */
const char *fleet_time_text(char out[32], uint64_t wall_ns);
/* Says which boards' clocks are wrong. */
void fleet_left_out_print(const struct fleet_clocks *clocks);
