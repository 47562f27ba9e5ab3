/* tls_user PLUGIN THREADS: each thread uses the thread-local data of a plugin that was loaded after it
 * began, and allocates. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "tests/targets/target.h"

#define TIMES	    200u
#define THREADS_MAX 64

static unsigned (*plugin_use)(unsigned seed);
static pthread_barrier_t loaded;

static void *thread_main(void *seed)
{
	pthread_barrier_wait(&loaded);
	for (unsigned i = 0; i < TIMES; i++) {
		void *p = use(malloc(own(100)));

		if (plugin_use((unsigned)(uintptr_t)seed) != 64 * (unsigned)(uintptr_t)seed)
			_exit(4);
		free(p);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned threads = argc > 2 ? (unsigned)atoi(argv[2]) : 8;
	pthread_t thread[THREADS_MAX];
	void *plugin;

	if (threads > THREADS_MAX || pthread_barrier_init(&loaded, NULL, threads + 1))
		return 2;
	for (uintptr_t i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, thread_main, (void *)(i + 1));
	plugin = dlopen(argv[1], RTLD_NOW);
	if (!plugin)
		return 3;
	*(void **)&plugin_use = dlsym(plugin, "plugin_use");
	pthread_barrier_wait(&loaded);
	for (unsigned i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	dlclose(plugin);
	say("allocations", TIMES * threads);
	say("frees", TIMES * threads);
	return 0;
}
