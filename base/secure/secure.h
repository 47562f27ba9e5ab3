#pragma once
/*
 * TLS 1.3 for the connections between agents and collectors: with keys that both sides have
 * (secret.h), or with certificates that both sides show. Both sides prove who they are before
 * either says anything.
 *
 *   struct secure           what we have: keys, or a certificate and who may sign those of others.
 *                           One for a process
 *   struct secure_session   one connection: bytes in, bytes out; it has no socket
 *
 *      socket --> secure_feed --> [ handshake | records ] --> secure_read --> us
 *      socket <-- secure_output <--------- 4 KiB ---------<-- secure_write <-- us
 *
 * Keys: TLS 1.3 external pre-shared keys (RFC 8446, 2.2 and 4.2.11), with an ephemeral exchange
 * (psk_dhe_ke), so that what was recorded on the wire stays closed when a key gets out later. The
 * identity that travels in the open is the hexadecimal id of the key. Certificates: any that chains
 * to the CA, and is in date, is a member's; names in it are not looked at. No tickets, no early
 * data, no compression; 1.3 knows no renegotiation. Memory is bounded: one record of 4 KiB out, one
 * of 16 KiB in.
 *
 * Who has accepted the connection is TLS's server. All of it runs in one thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/secure/secret.h"

struct err_text;
struct secure;
struct secure_session;

#define SECURE_KEYS_MAX 128
/* hexadecimal digits by which a key is named in the open */
#define SECURE_IDENTITY (2 * SECRET_ID_SIZE)
#define SECURE_RECORD	4096 /* of ours, at most */
/* that a stranger may send before it has proved anything */
#define SECURE_SHAKE_BYTES (16u << 10)
/* what the library takes of a process, measured (docs/security.md) */
#define SECURE_MEMORY	   (1024u << 10)
#define SECURE_LINK_MEMORY (48u << 10) /* and each connection, its handshake included */

struct secure_options {
	const struct secret *secrets;
	size_t secret_count;
	bool paired; /* keys by pairing: they come and go (secure_rekey), and while there is none
			nobody is talked to */
	const char *cert, *cert_key, *ca; /* files, PEM; all three or none */
};

/* Is there a key or a certificate? */
bool secure_wanted(const struct secure_options *options);
/* 0; a negative errno with a sentence: which file, what is wrong with it, what to do. -ENOTSUP:
 * built without TLS. */
int secure_open(const struct secure_options *options, struct secure **ret_secure,
		struct err_text *err);
void secure_close(struct secure *secure);
/* For a server that speaks TLS by another library, to clients that show no certificate: are both
 * files there, PEM, of each other, and in date? 0; a negative errno with a sentence. -ENOTSUP:
 * built without TLS. */
int secure_check_files(const char *cert, const char *cert_key, struct err_text *err);
/* Other keys from now on. Sessions whose handshake is done go on: secure_known tells whether they
 * should. 0; a negative errno with a sentence: all is as before. */
int secure_rekey(struct secure *secure, const struct secret *secrets, size_t count,
		 struct err_text *err);
/* How many keys there are to try; 1 with certificates. */
size_t secure_keys(const struct secure *secure);
/* The number of the key with this id; secure_keys: there is none. */
size_t secure_find(const struct secure *secure, const uint8_t id[SECRET_ID_SIZE]);
/* Something is odd but no error (the clock of this machine); NULL: nothing. */
const char *secure_remark(const struct secure *secure);

/* `accepted`: we are the server. Else the key number `key` is offered (modulo their number). NULL:
 * no memory. */
struct secure_session *secure_session_new(struct secure *secure, bool accepted, size_t key);
void secure_session_free(struct secure_session *session);

/* What has come from the socket. It must stay where it is until secure_shake returns, or
 * secure_read returns 0. */
void secure_feed(struct secure_session *session, const void *data, size_t length);
/* 0: both sides have proved themselves; 1: not yet, what came is used up; -EACCES: refused, with a
 * sentence; -EPROTO: that is no TLS, with a sentence. There may be output in each case. */
int secure_shake(struct secure_session *session, struct err_text *err);
/* How much of what was fed is not used up. */
size_t secure_rest(const struct secure_session *session);
/* The output was full, and secure_shake is to be called again when it has left, before what came is
 * used up. */
bool secure_blocked(const struct secure_session *session);
/* Bytes for us; 0: all that came is used up; -ENODATA: the other side has closed; -EACCES, -EPROTO
 * with a sentence. */
ssize_t secure_read(struct secure_session *session, void *data, size_t size, struct err_text *err);
/* Takes up to SECURE_RECORD bytes, all or none: -EAGAIN while there is output. Returns how many;
 * -EPROTO. */
ssize_t secure_write(struct secure_session *session, const void *data, size_t length);
/* What is to go to the socket; `ret_length` 0: nothing. */
const uint8_t *secure_output(const struct secure_session *session, size_t *ret_length);
void secure_sent(struct secure_session *session, size_t length);
/* Is the key by which the other side has proved itself still one of ours? Always, with
 * certificates. */
bool secure_known(const struct secure_session *session);
/* That key's id, in hexadecimal; empty: none, or the handshake is not done. */
const char *secure_identity(const struct secure_session *session);
/* Bytes that both sides of this session can tell, and nobody else (RFC 8446, 7.5; RFC 5705), once
 * the handshake is done. 0 or -EPROTO. */
int secure_export(struct secure_session *session, const char *label, void *out, size_t length);
/* Adds a farewell to the output. */
void secure_bye(struct secure_session *session);

/* How a connection speaks, from its first bytes. */
enum secure_first {
	SECURE_FIRST_UNKNOWN,
	SECURE_FIRST_HANDSHAKE,
	SECURE_FIRST_REFUSAL,
	SECURE_FIRST_OTHER
};
enum secure_first secure_first(const void *data, size_t length);
/* What whoever speaks no TLS gets, so that it can say so: an alert (RFC 8446, 6),
 * protocol_version. */
extern const uint8_t secure_refusal[7];
