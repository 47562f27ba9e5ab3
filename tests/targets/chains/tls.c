/* tls PLUGIN: much static TLS of the program itself, and a plugin that is loaded late and wants static TLS too, beside the
 * recorder's own. What threads keep there survives. */
#include <dlfcn.h>
#include <pthread.h>

#include "tests/targets/chains/chain.h"

#define THREADS 4
#define BLOCKS	100

static __thread unsigned char mine[50000];
static void (*plugin_grab)(int count);

FRAME static void grab(size_t size)
{
	free(keep(malloc(size)));
	STAY;
}

FRAME static void *worker(void *argument)
{
	unsigned char mark = *(unsigned char *)argument;
	size_t wrong = 0;

	memset(mine, mark, sizeof(mine));
	for (int i = 0; i < BLOCKS; i++)
		grab(88);
	plugin_grab(BLOCKS);
	for (size_t i = 0; i < sizeof(mine); i++)
		wrong += mine[i] != mark;
	return wrong ? argument : NULL;
}

int main(int argc, char **argv)
{
	static unsigned char marks[THREADS] = {1, 2, 3, 4};
	const unsigned long all = THREADS * BLOCKS;
	pthread_t thread[THREADS];
	void *handle = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL, *wrong = NULL;

	if (!handle)
		return 2;
	*(void **)&plugin_grab = dlsym(handle, "plugin_grab");
	truth("site", "own", all, all * 88, THREAD "worker;grab");
	truth("site", "plugin", all, all * 104, THREAD "worker;plugin_grab;plugin_deep");
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, worker, &marks[i]))
			return 1;
	for (int i = 0; i < THREADS; i++) {
		void *result;

		pthread_join(thread[i], &result);
		wrong = result ? result : wrong;
	}
	return wrong ? 3 : 16;
}
