#pragma once
/*
 * A lock is given back by the thread that has it: a program that includes this ends where one is
 * given back that nobody has taken. glibc itself does not mind.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	static int (*_Atomic unlock)(pthread_mutex_t *);

	if (!unlock)
		unlock = (int (*)(pthread_mutex_t *))(uintptr_t)dlsym(RTLD_NEXT,
								      "pthread_mutex_unlock");
	if (mutex->__data.__owner != gettid()) {
		fputs("a lock is given back that was not taken\n", stderr);
		abort();
	}
	return unlock(mutex);
}
