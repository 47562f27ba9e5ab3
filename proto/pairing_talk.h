#pragma once
/*
 * The conversation of one pairing connection after its TLS handshake, private to proto/pairing. It
 * has no socket.
 */
#include <assert.h>

#include "base/error.h"
#include "base/secure/secure.h"
#include "heapcast.pb-c.h"
#include "proto/pairing.h"

#define PAIRING_PROTOCOL 1
#define PAIRING_LENGTH	 2 /* bytes of the length in front of a message */
#define PAIRING_HOST_MAX 64

static_assert(PAIRS_ALL <= SECURE_KEYS_MAX, "all keys of a folder can be used");

/* State that all conversations share. */
struct pairing_share {
	const struct pairing_options *options;
	unsigned uses; /* remaining uses of the code */
	unsigned kept;
	char host[PAIRING_HOST_MAX]; /* our host name */
};

enum pairing_state {
	PAIRING_GREETS, /* waits for hello */
	PAIRING_AGREES, /* waits for ready or kept */
	PAIRING_ENDS,	/* collector: waits for done */
	PAIRING_OVER,	/* nothing more is sent */
};

struct pairing_talk {
	struct pairing_share *share;
	struct secure_session *session;
	enum pairing_state state;
	struct secret secret; /* the new key */
	uint8_t key[PAIR_KEY_SIZE];
	struct pair_draft draft;
	struct pair_name name; /* of the kept key; empty if none was kept */
	bool confirmed;	       /* the peer has the key, too */
	char host[PAIRING_HOST_MAX], address[64];
	size_t in_length, out_length, out_at;
	uint8_t in[PAIRING_LENGTH + PAIRING_MESSAGE_MAX];
	uint8_t out[2 * (PAIRING_LENGTH + PAIRING_MESSAGE_MAX)];
};

/* Sends hello. Returns 0, or a negative errno with a sentence. */
int pairing_talk_begin(struct pairing_talk *talk, struct err_text *err);
/*
 * Processes what the session has decrypted. Returns 0, or a negative errno with a sentence: the
 * conversation is over, and the caller may still send `out`.
 */
int pairing_talk_read(struct pairing_talk *talk, struct err_text *err);
/* Processes the complete messages in `in`. Returns the same values as pairing_talk_read. */
int pairing_talk_take(struct pairing_talk *talk, struct err_text *err);
/* Encrypts pending output as far as there is room. */
int pairing_talk_write(struct pairing_talk *talk);
/* Wipes the key, and removes its file if it was not kept. */
void pairing_talk_done(struct pairing_talk *talk);
