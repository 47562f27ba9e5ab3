#pragma once
/* What `collector ledger` prints besides the account: how the program ended and who reported that,
 * and when the record was incomplete or slowed the program down. */
struct recording;

/* Prints, for example, "End: killed by signal 9 (Killed); its parent, the agent, was told so." */
void ledger_end_print(const struct recording *recording);
/* Prints a line for each change: thinning, waiting for room in the ring, suspension of the machine.
 * Losses are listed as gaps. */
void ledger_states_print(const struct recording *recording);
