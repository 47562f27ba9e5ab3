#pragma once
/*
 * Queries the dynamic loader from within hooks, and never waits for its lock without a time limit.
 * A thread that holds the lock may wait for a lock of the program (in a callback of
 * dl_iterate_phdr), and the caller of the hook may hold that lock.
 *
 *	loader_enter	the lock is free, or held only for a moment by threads of this library:
 *			dl_iterate_phdr may be called
 *	loader_object	otherwise: looks up the object that holds an address without a lock
 *			(_dl_find_object, glibc 2.35 and later)
 *
 * If neither is possible (an older glibc, and the lock is held), the query has no answer. musl
 * holds its lock only for moments, and calls no code of the program meanwhile.
 */
#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/* Called once, as the process starts: it may wait. */
void loader_init(void);

/* Takes the lock, recursively. Returns false if another thread has it. */
bool loader_enter(void);
void loader_leave(void);

struct loader_object {
	struct dl_phdr_info info; /* without the loader's counts */
	bool first;		  /* the object is the program */
};
enum loader_answer {
	LOADER_FOUND,
	LOADER_NONE, /* no object holds the address */
	LOADER_BUSY, /* unknown now */
};
/* Looks up the object that holds this address, without a lock. An object in which no thread is
 * running code may be unloaded meanwhile. */
enum loader_answer loader_object(uint64_t address, struct loader_object *ret_object);

/* Called around a fork. If another thread of this library holds the loader's lock, the lock stays
 * taken in the child. loader_hold therefore waits for such threads, and holds others back, for a
 * moment only. */
void loader_hold(void);
void loader_release(void);
/* Called in the fork child. Returns false if a thread that does not exist in the child may hold the
 * lock. */
bool loader_forked(void);
