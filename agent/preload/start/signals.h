#pragma once
/*
 * Start and stop by signal: SIGUSR1 or SIGUSR2 stops recording if it is on and starts it if it was
 * stopped, as heapcast_stop and heapcast_start do.
 *
 * This happens only on request (REGISTER_SIGUSR1=1, REGISTER_SIGUSR2=1). The default action of
 * these signals is to end the process, and a program that relies on this must also end under the
 * profiler. The handler is installed only if the signal still has its default action. A handler
 * that the program sets later replaces it, because sigaction is not interposed; the program then
 * gets the library's function as the old handler.
 */

/* Called once, when recording begins. */
void signals_register(void);
