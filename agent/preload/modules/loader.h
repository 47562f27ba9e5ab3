#pragma once
/*
 * The dynamic loader, asked from within hooks: never by waiting for its lock. Who holds that may
 * wait for a lock of the program's (in a callback of dl_iterate_phdr), and who calls the hook may
 * hold the latter.
 *
 *	loader_enter	the lock is free, or only for a moment not (our own threads):
 *			dl_iterate_phdr may be called
 *	loader_object	else what holds an address is asked for without a lock: _dl_find_object,
 *			glibc 2.35 and later
 *
 * Where there is neither (an older glibc, and the lock is held) there is no answer. musl holds its
 * lock for moments only, and calls nobody meanwhile.
 */
#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/* Once, as the process starts: it may wait. */
void loader_init(void);

/* Takes the lock. false: another thread has it. It nests. */
bool loader_enter(void);
void loader_leave(void);

struct loader_object {
	struct dl_phdr_info info; /* without the loader's counts */
	bool first;		  /* it is the program */
};
enum loader_answer {
	LOADER_FOUND,
	LOADER_NONE, /* no object holds it */
	LOADER_BUSY, /* there is no telling now */
};
/* What holds this address. Without a lock: an object that nobody runs code in may be unloaded
 * meanwhile. */
enum loader_answer loader_object(uint64_t address, struct loader_object *ret_object);

/* Around a fork: the loader's lock stays taken in the child if another thread of ours holds it, so
 * those that do are waited for, and others are held back; a moment only. */
void loader_hold(void);
void loader_release(void);
/* In the fork child. false: the lock may be held by a thread that is not here. */
bool loader_forked(void);
