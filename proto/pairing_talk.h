#pragma once
/* Inside of proto/pairing: the conversation of one connection, which is done with TLS's handshake.
 * It has no socket. */
#include <assert.h>

#include "base/error.h"
#include "base/secure/secure.h"
#include "heapcast.pb-c.h"
#include "proto/pairing.h"

#define PAIRING_PROTOCOL 1
#define PAIRING_LENGTH	 2 /* bytes before a message */
#define PAIRING_HOST_MAX 64

static_assert(PAIRS_ALL <= SECURE_KEYS_MAX, "all keys of a folder can be used");

/* What all conversations share. */
struct pairing_share {
	const struct pairing_options *options;
	unsigned uses; /* of the code that are left */
	unsigned kept;
	char host[PAIRING_HOST_MAX]; /* ours */
};

enum pairing_state {
	PAIRING_GREETS, /* hello is awaited */
	PAIRING_AGREES, /* ready or kept is */
	PAIRING_ENDS,	/* the collector: done is */
	PAIRING_OVER,	/* nothing more is said */
};

struct pairing_talk {
	struct pairing_share *share;
	struct secure_session *session;
	enum pairing_state state;
	struct secret secret; /* the new one */
	uint8_t key[PAIR_KEY_SIZE];
	struct pair_draft draft;
	struct pair_name name; /* of what was kept; empty: nothing was */
	bool confirmed;	       /* the other side has it, too */
	char host[PAIRING_HOST_MAX], address[64];
	size_t in_length, out_length, out_at;
	uint8_t in[PAIRING_LENGTH + PAIRING_MESSAGE_MAX];
	uint8_t out[2 * (PAIRING_LENGTH + PAIRING_MESSAGE_MAX)];
};

/* Says hello. 0 or a negative errno with a sentence. */
int pairing_talk_begin(struct pairing_talk *talk, struct err_text *err);
/* Takes what the session has decrypted. 0; a negative errno with a sentence: it is over, and what
 * is in `out` may still go. */
int pairing_talk_read(struct pairing_talk *talk, struct err_text *err);
/* Of that: the messages that have come as a whole, in `in`. As pairing_talk_read. */
int pairing_talk_take(struct pairing_talk *talk, struct err_text *err);
/* Encrypts what there is to say, as far as there is room. */
int pairing_talk_write(struct pairing_talk *talk);
/* Forgets the key, and removes it if it was not kept. */
void pairing_talk_done(struct pairing_talk *talk);
