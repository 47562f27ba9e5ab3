/* late_frees PLUGIN: a thread makes 100 blocks and frees 20 of them; then the main thread unloads the
 * plugin, and the other one frees the rest, and does nothing else. */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "tests/targets/target.h"

#define BLOCKS 100
#define EARLY  20

static sem_t ready, unloaded;

static void *work(void *unused)
{
	void *block[BLOCKS];

	say("tid", (unsigned long)syscall(SYS_gettid));
	for (int i = 0; i < BLOCKS; i++)
		block[i] = use(malloc(own(64)));
	for (int i = 0; i < EARLY; i++)
		free(block[i]);
	sem_post(&ready);
	sem_wait(&unloaded);
	for (int i = EARLY; i < BLOCKS; i++)
		free(block[i]);
	return unused;
}

int main(int argc, char **argv)
{
	void *handle = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	void *(*plugin)(size_t) = handle ? (void *(*)(size_t))dlsym(handle, "plugin_work") : NULL;
	pthread_t thread;

	if (!plugin)
		return 3;
	free(plugin(100));
	sem_init(&ready, 0, 0);
	sem_init(&unloaded, 0, 0);
	if (pthread_create(&thread, NULL, work, NULL))
		return 4;
	sem_wait(&ready);
	if (dlclose(handle))
		return 5;
	sem_post(&unloaded);
	pthread_join(thread, NULL);
	return 0;
}
