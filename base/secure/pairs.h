#pragma once
/*
 * The keys that an agent has with collectors, or a collector with agents, by pairing: a folder of
 * key files, one a pair.
 *
 *   FOLDER/            mode 0700, its user's (or root's)
 *     board1.key       # comments: with whom, when; then the key, as secret.h has it
 *     installation     an agent's: what it has recorded belongs to this, whatever pairs come and go
 *                      (agent/serve/home.h)
 *     .new-...         a key that is not agreed on yet: nobody reads it
 *
 * Files have mode 0600, are made under new names only and never through a link, and appear whole. A
 * folder that others may write to is refused. What others have named is made to letters, digits,
 * '.', '_' and '-'. Whoever uses the keys looks again now and then: a pair that is made or revoked
 * counts from then on.
 */
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/secure/secret.h"

struct err_text;

#define PAIR_NAME_MAX 48 /* with its NUL */
#define PAIR_PEER_MAX 160
#define PAIR_KEY_SIZE 32
#define PAIRS_AGENT   16  /* collectors of an agent, */
#define PAIRS_ALL     128 /* and agents of a collector, at most: SECURE_KEYS_MAX */

struct pair_name {
	char text[PAIR_NAME_MAX];
};

/* As of the last look. */
struct pairs {
	char folder[PATH_MAX];
	struct secret *secret; /* in the order of names */
	struct pair_name *name;
	size_t count, max;
	bool begun;		 /* there is an installation */
	struct timespec changed; /* the folder */
	bool recent; /* that was just before it was read, so that the time may not show what came
			later */
};

/* Which folder: `given` unless that is NULL, else "keys" (agents) or "pairs" (collectors) in
 * /etc/heapcast for root, and in $XDG_CONFIG_HOME/heapcast (~/.config/heapcast; the home that the
 * user database names, unless $HOME is the user's own) for others. Empty: none. 0;
 * -ENAMETOOLONG. */
int pairs_place(const char *given, const char *usual, char ret_folder[PATH_MAX]);
/* Reads the keys there, up to `max`. No folder is no key, and no error. 0; a negative errno with a
 * sentence, if the folder can't be used. `remark`: files that are passed over, or empty. */
int pairs_open(struct pairs *pairs, const char *folder, size_t max, struct err_text *remark,
	       struct err_text *err);
/* Again, if there may be others: 1, and there are others; 0. A folder that can't be used any more
 * has none (with a remark); one that can't be read for lack of memory or descriptors is as
 * before. */
int pairs_look(struct pairs *pairs, struct err_text *remark);
/* Forgets the keys. */
void pairs_done(struct pairs *pairs);

/* Could a key be put there, below `max`? The folder is made if need be. 0; a negative errno with a
 * sentence. */
int pairs_check(const char *folder, size_t max, struct err_text *err);

/* A key on its way into the folder. */
struct pair_draft {
	int folder; /* -1: none */
	char temporary[32];
	char path[PATH_MAX]; /* of the folder, for sentences */
};

/* Makes the folder if need be and writes the key there, so that nobody reads it yet. `peer`: with
 * whom, one line. 0; a negative errno with a sentence; -ENOSPC: there are `max` already. */
int pair_draft_open(struct pair_draft *draft, const char *folder, size_t max,
		    const uint8_t key[PAIR_KEY_SIZE], const char *peer, struct err_text *err);
/* From now on it is one of the keys, as `wanted` or, if that is taken, with a number. */
int pair_draft_keep(struct pair_draft *draft, const char *wanted, struct pair_name *ret_name,
		    struct err_text *err);
/* Removes it unless it was kept. */
void pair_draft_close(struct pair_draft *draft);
/* The secret that such a file holds. 0 or a negative errno. */
int pair_secret(const uint8_t key[PAIR_KEY_SIZE], struct secret *ret_secret);

/* What an agent's recordings belong to; with `make` it is made if there is none. 0; -ENOENT;
 * another negative errno with a sentence. */
int pairs_installation(const char *folder, bool make, struct secret *ret_secret,
		       struct err_text *err);

/* Of the file, for a list. */
struct pair_facts {
	char peer[PAIR_PEER_MAX], when[32]; /* cleaned; empty: unknown */
	time_t seen;			    /* 0: never */
};
int pair_facts(const char *folder, const char *name, struct pair_facts *ret_facts);
/* This one has connected. */
void pair_seen(const char *folder, const char *name);
/* 0; -ENOENT: there is none of that name; another negative errno with a sentence. */
int pair_remove(const char *folder, const char *name, struct err_text *err);
