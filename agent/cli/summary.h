#pragma once
/* Prints the summary of `agent run` and `agent attach` to standard error when a program has
 * ended. */
#include <stdbool.h>

#include "agent/serve/agent.h"

/* Prints the summary of one recording. `flight`: the flight recorder held events back. */
void summary_print(const struct session_report *report, bool flight);
/* Prints what to type next. */
void summary_print_next(const struct session_report *report);
