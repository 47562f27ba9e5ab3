#pragma once
/*
 * TLS 1.3 for the connections between agents and collectors. Both sides authenticate, either by a
 * shared key (secret.h) or by certificates, before either sends data.
 *
 *   struct secure           our keys, or our certificate and the CA that signs peers' certificates;
 *                           one per process
 *   struct secure_session   one connection: bytes in, bytes out, no socket
 *
 *      socket --> secure_feed --> [ handshake | records ] --> secure_read --> us
 *      socket <-- secure_output <--------- 4 KiB ---------<-- secure_write <-- us
 *
 * Keys are TLS 1.3 external pre-shared keys (RFC 8446, 2.2 and 4.2.11) with an ephemeral exchange
 * (psk_dhe_ke), so recorded traffic stays secret if the key leaks later. The identity on the wire,
 * in clear text, is the hexadecimal id of the key. A certificate is accepted if it chains to the CA
 * and is in date; names in it are ignored. There are no tickets, no early data and no compression;
 * TLS 1.3 has no renegotiation. Memory is bounded: one record of 4 KiB out, one of 16 KiB in.
 *
 * The side that accepted the connection is the TLS server. All functions run in one thread.
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
/* hexadecimal digits of a key's identity in clear text */
#define SECURE_IDENTITY (2 * SECRET_ID_SIZE)
#define SECURE_RECORD	4096 /* longest record that we send */
/* bytes that a peer may send before it has authenticated */
#define SECURE_SHAKE_BYTES (16u << 10)
/* memory that the library takes per process, measured (docs/security.md) */
#define SECURE_MEMORY	   (1024u << 10)
#define SECURE_LINK_MEMORY (48u << 10) /* and per connection, with its handshake */

struct secure_options {
	const struct secret *secrets;
	size_t secret_count;
	bool paired; /* the keys come from pairing: they may change (secure_rekey), and while there
		      * are none no peer can connect */
	const char *cert, *cert_key, *ca; /* PEM files; all three or none */
};

/* Returns the version of the loaded TLS library, for display, or a text that says that there is
 * none. */
const char *secure_library(void);
/* Tells whether a key or a certificate is configured. */
bool secure_wanted(const struct secure_options *options);
/*
 * Returns 0, or a negative errno with a sentence that names the file, the fault and the remedy.
 * Returns -ENOTSUP if TLS is not built in.
 */
int secure_open(const struct secure_options *options, struct secure **ret_secure,
		struct err_text *err);
void secure_close(struct secure *secure);
/*
 * Checks the files of a server that uses another TLS library and asks clients for no certificate.
 * Both files must exist, be PEM, match each other and be in date. Returns 0, or a negative errno
 * with a sentence; -ENOTSUP if TLS is not built in.
 */
int secure_check_files(const char *cert, const char *cert_key, struct err_text *err);
/*
 * Replaces the keys. Established sessions continue; secure_known tells whether their key is still
 * valid. Returns 0, or a negative errno with a sentence, and the keys are unchanged.
 */
int secure_rekey(struct secure *secure, const struct secret *secrets, size_t count,
		 struct err_text *err);
/* Returns the number of keys to try; 1 with certificates. */
size_t secure_keys(const struct secure *secure);
/* Returns the index of the key with this id, or secure_keys if there is no such key. */
size_t secure_find(const struct secure *secure, const uint8_t id[SECRET_ID_SIZE]);
/* Returns a warning that is no error (this machine's clock is not set), or NULL. */
const char *secure_remark(const struct secure *secure);

/*
 * Makes a session. If `accepted`, we are the server. Otherwise the session offers the key with
 * index `key`, modulo the number of keys. Returns NULL if memory is short.
 */
struct secure_session *secure_session_new(struct secure *secure, bool accepted, size_t key);
void secure_session_free(struct secure_session *session);

/*
 * Hands over bytes from the socket. They must stay in place until secure_shake returns, or
 * secure_read returns 0.
 */
void secure_feed(struct secure_session *session, const void *data, size_t length);
/*
 * Continues the handshake. Returns 0 when both sides have authenticated, 1 if more input is needed
 * or the output is full (secure_blocked), -EACCES if the peer was refused or refused us, or -EPROTO
 * if the peer does not speak TLS. Errors come with a sentence. Output may be pending in every case.
 */
int secure_shake(struct secure_session *session, struct err_text *err);
/* Returns how many of the bytes passed to secure_feed are unused. */
size_t secure_rest(const struct secure_session *session);
/*
 * Tells whether secure_shake stopped because the output is full. The caller sends the output and
 * calls secure_shake again before it discards the unused input.
 */
bool secure_blocked(const struct secure_session *session);
/*
 * Returns the number of bytes read; 0 if the input is used up; -ENODATA if the peer has closed the
 * session; -EACCES or -EPROTO with a sentence.
 */
ssize_t secure_read(struct secure_session *session, void *data, size_t size, struct err_text *err);
/*
 * Encrypts up to SECURE_RECORD bytes as one record. Returns the number of bytes taken, -EAGAIN
 * while output is pending, or -EPROTO.
 */
ssize_t secure_write(struct secure_session *session, const void *data, size_t length);
/* Returns the bytes to send to the socket; `*ret_length` is 0 if there are none. */
const uint8_t *secure_output(const struct secure_session *session, size_t *ret_length);
void secure_sent(struct secure_session *session, size_t length);
/*
 * Tells whether the key that authenticated the peer is still one of ours. Always true with
 * certificates.
 */
bool secure_known(const struct secure_session *session);
/* Returns that key's id in hexadecimal; empty with certificates or before the handshake is done. */
const char *secure_identity(const struct secure_session *session);
/*
 * Exports bytes that only the two ends of this session can derive (RFC 8446, 7.5; RFC 5705), after
 * the handshake. Returns 0 or -EPROTO.
 */
int secure_export(struct secure_session *session, const char *label, void *out, size_t length);
/* Adds a close_notify alert to the output, if no output is pending. */
void secure_bye(struct secure_session *session);

/* The protocol of a connection, judged by its first bytes. */
enum secure_first {
	SECURE_FIRST_UNKNOWN,
	SECURE_FIRST_HANDSHAKE,
	SECURE_FIRST_REFUSAL,
	SECURE_FIRST_OTHER
};
enum secure_first secure_first(const void *data, size_t length);
/*
 * The alert for a peer that does not speak TLS, so that it can report the reason: protocol_version
 * (RFC 8446, 6).
 */
extern const uint8_t secure_refusal[7];
