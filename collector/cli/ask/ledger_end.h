#pragma once
/* What `collector ledger` prints beside the account: how the program ended and who says so, and
 * when the record was incomplete or slowed the program. */
struct recording;

/* "End: killed by signal 9 (Killed); its parent, the agent, was told so." */
void ledger_end_print(const struct recording *recording);
/* Prints a line for each change: thinning, waits for room in the ring, sleeps of the machine.
 * Losses are listed as gaps. */
void ledger_states_print(const struct recording *recording);
