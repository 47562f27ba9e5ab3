#pragma once
/* What `collector ledger` tells beside the account: how the program ended and who says so, and when
 * the record was not whole or not at full speed. */
struct recording;

/* "End: killed by signal 9 (Killed); its parent, the agent, was told so." */
void ledger_end_print(const struct recording *recording);
/* A line for each change: thinning, waits for room in the ring, sleeps of the machine. What was
 * lost is in the gaps. */
void ledger_states_print(const struct recording *recording);
