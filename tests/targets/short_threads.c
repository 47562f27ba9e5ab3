/* short_threads COUNT: that many threads, four at a time, each of which allocates twice and frees
 * once, and ends. */
#include <pthread.h>
#include <stdlib.h>

#include "tests/targets/target.h"

#define AT_ONCE 4

static void *thread_main(void *argument)
{
	void *kept = use(malloc(own(48)));

	(void)argument;
	free(use(malloc(own(64))));
	return kept;
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 100, done = 0;
	pthread_t threads[AT_ONCE];

	while (done < count) {
		for (int i = 0; i < AT_ONCE; i++)
			if (pthread_create(&threads[i], NULL, thread_main, NULL))
				return 3;
		for (int i = 0; i < AT_ONCE; i++) {
			void *kept;

			pthread_join(threads[i], &kept);
			free(kept);
		}
		done += AT_ONCE;
	}
	say("allocations", done * 2);
	say("frees", done * 2);
	return 0;
}
