/* Uses the C API where it is there: marks, a text, stop and start. */
#include <stdlib.h>

#include "agent/preload/heapcast.h"
#include "tests/targets/target.h"

int main(void)
{
	void *p = use(malloc(own(32)));

	if (heapcast_mark)
		heapcast_mark(42);
	if (heapcast_text)
		heapcast_text("hello, ring", 11);
	if (heapcast_stop)
		heapcast_stop();
	(void)use(malloc(own(64)));
	free(p);
	if (heapcast_start)
		heapcast_start();
	(void)use(malloc(own(96)));
	say("api", heapcast_mark != NULL);
	return 0;
}
