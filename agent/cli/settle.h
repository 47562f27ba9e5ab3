#pragma once
/*
 * What a program's own environment asks of `agent serve`, when it asks for a ring: the settings of
 * a program (COMMAND_PROGRAM in the table of options) hold for it, those of an agent are the
 * agent's business. What is not honoured has its sentence, which the program writes to its standard
 * error.
 */
#include "agent/serve/agent.h"

/* An agent_settle; `context` is the struct options that hold for the agent. */
agent_settle settle;
