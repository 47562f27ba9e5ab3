/*
 * loader_locked PLUGIN [CXX_PLUGIN]: one thread is in a callback of dl_iterate_phdr, where it has the loader's lock, and waits for a
 * mutex of the program's. Who has that calls what nobody has called before, in the program and in plugins, and allocates there; closes a
 * handle; and lets go. A recorder that waits for the loader's lock ends neither. Then all is called once more.
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#include "tests/targets/target.h"

#define PLUGIN_SIZE 4096

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t inside;
static unsigned long allocations, frees;

static int visit(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)info;
	(void)size;
	(void)context;
	sem_post(&inside);
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	return 1;
}

static void *look_at_modules(void *context)
{
	dl_iterate_phdr(visit, NULL);
	return context;
}

static void give_back(void *p)
{
	free(p);
	allocations++;
	frees++;
}

#define FRESH(n)                                                                                   \
	__attribute__((noinline)) static void fresh_##n(void)                                      \
	{                                                                                          \
		give_back(use(malloc(own(1000 + 16 * n))));                                        \
		__asm__ volatile("");                                                              \
	}
#define EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
EACH(FRESH)

__attribute__((noinline)) static void work(void *(*plugin_work)(size_t),
					   unsigned (*cxx_work)(unsigned))
{
#define CALL(n) fresh_##n();
	EACH(CALL)
	for (int i = 0; i < 5; i++)
		give_back(plugin_work(PLUGIN_SIZE));
	if (cxx_work) {
		cxx_work(10);
		allocations += 10;
		frees += 10;
	}
	__asm__ volatile("");
}

static void *open_or_end(const char *path)
{
	void *plugin = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;

	if (!plugin)
		_exit(3);
	return plugin;
}

int main(int argc, char **argv)
{
	void *plugin = open_or_end(argv[1]), *again = open_or_end(argv[1]), *cxx;
	void *(*plugin_work)(size_t) = (void *(*)(size_t))dlsym(plugin, "plugin_work");
	unsigned (*cxx_work)(unsigned) = NULL;
	pthread_t other;

	cxx = argc > 2 ? open_or_end(argv[2]) : NULL;
	if (cxx)
		cxx_work = (unsigned (*)(unsigned))dlsym(cxx, "plugin_work");
	alarm(60); /* it hangs */
	sem_init(&inside, 0, 0);
	pthread_mutex_lock(&mutex);
	if (pthread_create(&other, NULL, look_at_modules, NULL))
		return 3;
	while (sem_wait(&inside))
		;
	work(plugin_work, cxx_work);
	dlclose(again);
	pthread_mutex_unlock(&mutex);
	pthread_join(other, NULL);
	work(plugin_work, cxx_work);
	say("allocations", allocations);
	say("frees", frees);
	return 0;
}
