/* Helper threads. helper.h describes them. */
#include "collector/columns/helper.h"

#include <stdatomic.h>
#include <unistd.h>

#include "base/ban.h"

static atomic_long running;

static bool helper_take_place(void)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN), now = atomic_load(&running);

	do {
		if (processors < 2 || now >= processors)
			return false;
	} while (!atomic_compare_exchange_weak(&running, &now, now + 1));
	return true;
}

bool helper_start(struct helper *h, void *(*run)(void *), void *argument)
{
	if (!helper_take_place())
		return false;
	h->running = !pthread_create(&h->thread, NULL, run, argument);
	if (!h->running)
		atomic_fetch_sub(&running, 1);
	return h->running;
}

void helper_join(struct helper *h)
{
	if (!h->running)
		return;
	pthread_join(h->thread, NULL);
	h->running = false;
	atomic_fetch_sub(&running, 1);
}
