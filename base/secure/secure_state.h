#pragma once
/* State that the files of base/secure share. */
#include "base/secure/openssl.h"
#include "base/secure/secure.h"

/* a record with the overhead of TLS, and a handshake message */
#define SECURE_OUT (SECURE_RECORD + 512)

struct secure {
	const struct openssl *o;
	SSL_CTX *context;
	BIO_METHOD *bio;
	bool by_key;
	bool paired; /* the keys come from pairing */
	size_t count;
	char identity[SECURE_KEYS_MAX][SECURE_IDENTITY + 1];
	uint8_t psk[SECURE_KEYS_MAX][SECRET_MAC_SIZE];
	char remark[256];
};

struct secure_session {
	struct secure *secure;
	SSL *ssl;
	size_t key; /* index of the key that we offer or that the peer has */
	bool accepted, done, blocked;
	char identity[SECURE_IDENTITY + 1]; /* id of that key; it stays valid when indices change */
	bool offered, known;	    /* server only: the peer has named a key; we have that key */
	int certificate_error;	    /* X509_V_ERR_... of the peer's certificate */
	struct tm certificate_date; /* start or end of validity, if that is the error */
	const uint8_t *in;
	size_t in_length;
	size_t out_at, out_length;
	uint8_t out[SECURE_OUT];
};

/* Defined in secure_openssl.c. */
/* Returns an external pre-shared key in OpenSSL's form, or NULL if memory is short. */
SSL_SESSION *secure_key_session(const struct secure *secure, SSL *ssl, size_t key);

/* Returns the index of the key with this identity, or secure->count. */
size_t secure_find_identity(const struct secure *secure, const void *identity);

/* Defined in secure_session.c. */
/*
 * Makes the BIO method through which OpenSSL reads and writes a session's buffers. Returns NULL if
 * memory is short.
 */
BIO_METHOD *secure_bio_new(const struct openssl *o);

/* Defined in secure_words.c. */
/*
 * Writes the sentence that explains why a handshake or a later record failed. `code` is OpenSSL's.
 * Returns -EPROTO if the peer does not speak TLS or a record was corrupt, else -EACCES.
 */
int secure_words(const struct secure_session *session, unsigned long code, struct err_text *err);
/*
 * Checks a certificate's dates. Returns 0 if it is in date. Returns 1 if it seems not yet valid but
 * this machine's clock was never set, or -EINVAL if it is out of date; both come with a sentence
 * that contains `whose`.
 */
int secure_check_dates(const struct openssl *o, const X509 *certificate, const char *whose,
		       struct err_text *err);
/* Tells whether this machine's clock was never set. */
bool secure_clock_unset(void);
