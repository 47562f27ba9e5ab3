#pragma once
/*
 * Applies the environment of a program that asks `agent serve` for a ring. Settings of a program
 * (COMMAND_PROGRAM in the table of options) hold for that program; settings of an agent are
 * ignored. For each setting that is not honoured the program gets a sentence to write to its
 * standard error.
 */
#include "agent/serve/agent.h"

/* An agent_settle function; `context` is the struct options of the agent. */
agent_settle settle;
