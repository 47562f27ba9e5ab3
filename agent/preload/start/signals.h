#pragma once
/*
 * Start and stop by signal: SIGUSR1 or SIGUSR2 stops recording where it goes on, and starts it
 * where it was stopped, as heapcast_stop and heapcast_start do.
 *
 * Only on request (REGISTER_SIGUSR1=1, REGISTER_SIGUSR2=1), because the default action of these
 * signals is to end the process, and a program that is ended by one must be ended by it under us.
 * And only where nobody has set the signal before: what the program sets later replaces ours, as
 * sigaction is not interposed; it is told of our function as the former one.
 */

/* Once, when recording begins. */
void signals_register(void);
