#pragma once
/* collector fleet --top: what is in use on all boards together. */

struct command_call;

/* Returns EXIT_DONE, or says what is wrong with the options. */
int fleet_top_check(const struct command_call *call);
int fleet_top_run(struct command_call *call);
