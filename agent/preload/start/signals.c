/* Start and stop by signal; see signals.h. */
#define HEAPCAST_WEAK /* defined here, so not weak */
#include "agent/preload/start/signals.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>

#include "agent/preload/system/env.h"
#include "agent/preload/heapcast.h"
#include "agent/preload/system/state.h"

#include "agent/preload/poison.h"

/* Handles the signal. This may run in the middle of a hook; the mark is then put aside like an
 * event. */
static void toggle(int number)
{
	int saved = errno;

	(void)number;
	if (__atomic_load_n(&shim.stopped, __ATOMIC_RELAXED))
		heapcast_start();
	else
		heapcast_stop();
	errno = saved;
}

/* Installs the handler. SA_ONSTACK, because a thread with an alternate signal stack may have little
 * room on its own stack. */
static void signals_take(int number)
{
	struct sigaction before, ours = {.sa_handler = toggle, .sa_flags = SA_RESTART | SA_ONSTACK};

	sigemptyset(&ours.sa_mask);
	if (!sigaction(number, NULL, &before) && !(before.sa_flags & SA_SIGINFO) &&
	    before.sa_handler == SIG_DFL)
		sigaction(number, &ours, NULL);
}

void signals_register(void)
{
	int saved = errno;

	if (env_switch("REGISTER_SIGUSR1"))
		signals_take(SIGUSR1);
	if (env_switch("REGISTER_SIGUSR2"))
		signals_take(SIGUSR2);
	errno = saved;
}
