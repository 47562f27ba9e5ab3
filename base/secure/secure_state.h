#pragma once
/* What the files of base/secure share. */
#include "base/secure/openssl.h"
#include "base/secure/secure.h"

/* a record with what TLS adds, and a message about keys */
#define SECURE_OUT (SECURE_RECORD + 512)

struct secure {
	const struct openssl *o;
	SSL_CTX *context;
	BIO_METHOD *bio;
	bool by_key;
	bool paired; /* the keys are those of pairs */
	size_t count;
	char identity[SECURE_KEYS_MAX][SECURE_IDENTITY + 1];
	uint8_t psk[SECURE_KEYS_MAX][SECRET_MAC_SIZE];
	char remark[256];
};

struct secure_session {
	struct secure *secure;
	SSL *ssl;
	size_t key; /* that we offer, or that the other side has */
	bool accepted, done, blocked;
	char identity[SECURE_IDENTITY + 1]; /* of that key */
	bool offered, known;	    /* accepted: it has named a key, and that is one of ours */
	int certificate_error;	    /* X509_V_ERR_... of theirs */
	struct tm certificate_date; /* when it begins or ends, if that is the error */
	const uint8_t *in;
	size_t in_length;
	size_t out_at, out_length;
	uint8_t out[SECURE_OUT];
};

/* secure_openssl.c */
/* An external pre-shared key as OpenSSL wants it; NULL: no memory. */
SSL_SESSION *secure_key_session(const struct secure *secure, SSL *ssl, size_t key);

/* The number of the key that is named so; secure->count: none. */
size_t secure_find_identity(const struct secure *secure, const void *identity);

/* secure_session.c */
/* How OpenSSL gets at a session's bytes. NULL: no memory. */
BIO_METHOD *secure_bio_new(const struct openssl *o);

/* secure_words.c */
/* Why the handshake, or what came later, failed: the sentence. `code` is OpenSSL's. Returns -EPROTO
 * if that was no TLS, else -EACCES. */
int secure_words(const struct secure_session *session, unsigned long code, struct err_text *err);
/* Is it in date now? 0; 1: not yet, because this machine has no clock that runs; -EINVAL with a
 * sentence that begins with `whose`. */
int secure_check_dates(const struct openssl *o, const X509 *certificate, const char *whose,
		       struct err_text *err);
/* This machine's clock was never set. */
bool secure_clock_unset(void);
