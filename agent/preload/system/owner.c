/* Robust ownership of slices; see owner.h. */
#include "agent/preload/system/owner.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <string.h>

#include "agent/preload/system/libc.h"
#include "agent/preload/system/next.h"
#include "agent/preload/system/state.h"
#include "agent/preload/record/strict.h"
#include "agent/preload/system/sys.h"

#include "agent/preload/poison.h"

static_assert(sizeof(pthread_mutex_t) <= sizeof(((struct ring_slice *)0)->owner),
	      "the mutex fits the slice");

static struct {
	bool known;  /* libc has the functions */
	bool robust; /* and they work in this process */
	pthread_mutexattr_t attributes;
} owner;

static uint32_t *owner_word(const struct ring_slice *slice)
{
	return (uint32_t *)((uintptr_t)slice->owner + shim.owner_word_offset);
}

/* Older versions of libc have these three in libpthread, so they are looked up by name. */
static bool robust_attributes(void)
{
	int (*init)(pthread_mutexattr_t *) =
		(__typeof__(init))next_symbol("pthread_mutexattr_init");
	int (*shared)(pthread_mutexattr_t *, int) =
		(__typeof__(shared))next_symbol("pthread_mutexattr_setpshared");
	int (*robust)(pthread_mutexattr_t *, int) =
		(__typeof__(robust))next_symbol("pthread_mutexattr_setrobust");

	return init && shared && robust && !init(&owner.attributes) &&
	       !shared(&owner.attributes, PTHREAD_PROCESS_SHARED) &&
	       !robust(&owner.attributes, PTHREAD_MUTEX_ROBUST);
}

/* Locks a mutex, and searches its words for the one that holds this thread's id. */
uint32_t owner_init_forked(void)
{
	pthread_mutex_t trial;
	uint32_t words[sizeof(trial) / sizeof(uint32_t)];
	long asked = sys_call(SYS_gettid);
	uint32_t tid = asked > 0 ? (uint32_t)asked : libc_own_id(), offset = 0;
	int saved = errno;

	owner.robust = false;
	if (owner.known && !pthread_mutex_init(&trial, &owner.attributes) &&
	    !pthread_mutex_lock(&trial)) {
		memcpy(words, &trial, sizeof(words));
		for (uint32_t i = sizeof(words) / sizeof(*words); i-- > 0;) {
			if (words[i] != tid)
				continue;
			owner.robust = true;
			offset = i * (uint32_t)sizeof(*words);
		}
		pthread_mutex_unlock(&trial);
	}
	errno = saved;
	return offset;
}

uint32_t owner_init(void)
{
	int saved = errno;

	owner.known = robust_attributes();
	errno = saved;
	return owner_init_forked();
}

/* Makes no system call: libc knows the thread's id, and locks a free mutex without one. */
uint32_t owner_take(struct ring_slice *slice)
{
	pthread_mutex_t *mutex = (pthread_mutex_t *)slice->owner;
	long tid;

	memset(slice->owner, 0, sizeof(slice->owner));
	if (owner.robust && (!strict_refused() || libc_locks_quietly()) &&
	    !pthread_mutex_init(mutex, &owner.attributes) && !pthread_mutex_lock(mutex))
		return __atomic_load_n(owner_word(slice), __ATOMIC_RELAXED) & FUTEX_TID_MASK;
	tid = sys_call(SYS_gettid);
	if (tid <= 0)
		return 0;
	__atomic_store_n(owner_word(slice), (uint32_t)tid, __ATOMIC_RELEASE);
	return (uint32_t)tid;
}

void owner_release(struct ring_slice *slice)
{
	if (owner.robust)
		pthread_mutex_unlock((pthread_mutex_t *)slice->owner);
	__atomic_store_n(owner_word(slice), 0, __ATOMIC_RELEASE);
}

bool owner_died(const struct ring_slice *slice)
{
	return __atomic_load_n(owner_word(slice), __ATOMIC_ACQUIRE) & FUTEX_OWNER_DIED;
}
