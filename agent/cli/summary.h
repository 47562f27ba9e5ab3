#pragma once
/* What `agent run` and `agent attach` say on standard error of a program that has ended. */
#include <stdbool.h>

#include "agent/serve/agent.h"

/* `flight`: it was the flight recorder that held events back. */
void summary_print(const struct session_report *report, bool flight);
