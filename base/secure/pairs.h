#pragma once
/*
 * The keys that an agent shares with collectors, or a collector with agents, through pairing. They
 * are key files in one folder, one file per pair.
 *
 *   FOLDER/           mode 0700, owned by the user or by root
 *     board1.key      comments with the peer and the date, then the key as in secret.h
 *     installation    agents only: the owner of all its recordings, whatever pairs come and go
 *                     (agent/serve/home.h)
 *     .new-...        a key that is not agreed on yet; nothing reads it
 *
 * Files have mode 0600. They are created under new names only, never through a link, and appear
 * with their full contents. A folder that other users may write to is refused. A name from a peer
 * is reduced to letters, digits, '.', '_' and '-'. Users of the keys call pairs_look now and then,
 * so that a new or revoked pair takes effect.
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
#define PAIRS_AGENT   16  /* most collectors of an agent */
#define PAIRS_ALL     128 /* most agents of a collector: SECURE_KEYS_MAX */

struct pair_name {
	char text[PAIR_NAME_MAX];
};

/* The keys as of the last look at the folder. */
struct pairs {
	char folder[PATH_MAX];
	struct secret *secret; /* sorted by name */
	struct pair_name *name;
	size_t count, max;
	bool begun;		 /* the folder has an installation */
	struct timespec changed; /* modification time of the folder */
	bool recent; /* the folder changed just before it was read, so a later change may leave the
		      * same modification time */
};

/*
 * Determines the folder. `given` is used unless it is NULL. Otherwise the folder is `usual` ("keys"
 * for agents, "pairs" for collectors) in /etc/heapcast for root, and in $XDG_CONFIG_HOME/heapcast
 * or ~/.config/heapcast for other users. The home directory is $HOME if the user owns it, else the
 * one in the user database. An empty result means that there is no folder. Returns 0 or
 * -ENAMETOOLONG.
 */
int pairs_place(const char *given, const char *usual, char ret_folder[PATH_MAX]);
/*
 * Reads up to `max` keys from the folder. A missing folder holds no keys and is not an error.
 * Returns 0, or a negative errno with a sentence if the folder cannot be used. `remark` receives a
 * note about files that were skipped, or stays empty.
 */
int pairs_open(struct pairs *pairs, const char *folder, size_t max, struct err_text *remark,
	       struct err_text *err);
/*
 * Reads the folder again if it may have changed. Returns 1 if the keys changed, else 0. A folder
 * that is gone, is no folder or belongs to others counts as empty, with a remark. If it cannot be
 * read for another reason, such as EIO or a lack of descriptors, the keys stay as they are.
 */
int pairs_look(struct pairs *pairs, struct err_text *remark);
/* Wipes and frees the keys. */
void pairs_done(struct pairs *pairs);

/*
 * Checks that a key could be stored in the folder, with fewer than `max` there. Creates the folder
 * if necessary. Returns 0, or a negative errno with a sentence.
 */
int pairs_check(const char *folder, size_t max, struct err_text *err);

/* A key that is written to the folder but not yet in use. */
struct pair_draft {
	int folder; /* -1 if closed */
	char temporary[32];
	char path[PATH_MAX]; /* of the folder, for error messages */
};

/*
 * Creates the folder if necessary and writes the key to a temporary file, which nothing reads.
 * `peer` names the peer in one line. Returns 0; -ENOSPC if `max` keys exist; or another negative
 * errno. Errors come with a sentence.
 */
int pair_draft_open(struct pair_draft *draft, const char *folder, size_t max,
		    const uint8_t key[PAIR_KEY_SIZE], const char *peer, struct err_text *err);
/*
 * Makes the draft a valid key under the name `wanted`, with a number appended if that name is
 * taken. Returns 0, or a negative errno with a sentence.
 */
int pair_draft_keep(struct pair_draft *draft, const char *wanted, struct pair_name *ret_name,
		    struct err_text *err);
/* Closes the draft. Removes the file unless pair_draft_keep succeeded. */
void pair_draft_close(struct pair_draft *draft);
/* Makes the secret that a key file with this key holds. Returns 0 or a negative errno. */
int pair_secret(const uint8_t key[PAIR_KEY_SIZE], struct secret *ret_secret);

/*
 * Reads the secret that owns an agent's recordings. With `make`, creates it if it does not exist.
 * Returns 0, -ENOENT, or another negative errno with a sentence.
 */
int pairs_installation(const char *folder, bool make, struct secret *ret_secret,
		       struct err_text *err);

/* The facts about a key file that a list shows. */
struct pair_facts {
	char peer[PAIR_PEER_MAX], when[32]; /* safe to display; empty if unknown */
	time_t seen;			    /* the last connection; 0 means never */
};
int pair_facts(const char *folder, const char *name, struct pair_facts *ret_facts);
/* Records that the peer with this key has connected. */
void pair_seen(const char *folder, const char *name);
/* Returns 0, -ENOENT if no key has this name, or another negative errno with a sentence. */
int pair_remove(const char *folder, const char *name, struct err_text *err);
