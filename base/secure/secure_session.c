/*
 * One connection. A custom BIO connects OpenSSL to an input and an output buffer. secure.h
 * describes the interface.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/secure/secure_state.h"
#include "base/ban.h"

/* ---- the two buffers ---- */

static int bio_read(BIO *bio, char *data, int size)
{
	const struct openssl *o = openssl_load(NULL);
	struct secure_session *s = o->BIO_get_data(bio);
	size_t n = (size_t)size < s->in_length ? (size_t)size : s->in_length;

	o->BIO_clear_flags(bio, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY);
	if (!n) {
		o->BIO_set_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY);
		return -1;
	}
	memcpy(data, s->in, n);
	s->in += n;
	s->in_length -= n;
	return (int)n;
}

static int bio_write(BIO *bio, const char *data, int length)
{
	const struct openssl *o = openssl_load(NULL);
	struct secure_session *s = o->BIO_get_data(bio);
	size_t room = sizeof(s->out) - s->out_length,
	       n = (size_t)length < room ? (size_t)length : room;

	o->BIO_clear_flags(bio, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY);
	if (!n) {
		o->BIO_set_flags(bio, BIO_FLAGS_WRITE | BIO_FLAGS_SHOULD_RETRY);
		return -1;
	}
	memcpy(s->out + s->out_length, data, n);
	s->out_length += n;
	return (int)n;
}

static long bio_control(BIO *bio, int command, long number, void *pointer)
{
	(void)bio;
	(void)number;
	(void)pointer;
	return command == BIO_CTRL_FLUSH;
}

BIO_METHOD *secure_bio_new(const struct openssl *o)
{
	BIO_METHOD *method =
		o->BIO_meth_new(o->BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "heapcast");

	if (!method)
		return NULL;
	o->BIO_meth_set_read(method, bio_read);
	o->BIO_meth_set_write(method, bio_write);
	o->BIO_meth_set_ctrl(method, bio_control);
	return method;
}

/* ---- creation and release ---- */

struct secure_session *secure_session_new(struct secure *secure, bool accepted, size_t key)
{
	const struct openssl *o = secure->o;
	struct secure_session *s = calloc(1, sizeof(*s));
	BIO *bio = s ? o->BIO_new(secure->bio) : NULL;
	SSL *ssl = bio ? o->SSL_new(secure->context) : NULL;

	if (!ssl) {
		o->BIO_free(bio);
		free(s);
		return NULL;
	}
	s->secure = secure;
	s->ssl = ssl;
	s->accepted = accepted;
	s->key = secure->count ? key % secure->count : 0;
	o->BIO_set_data(bio, s);
	o->BIO_set_init(bio, 1);
	o->SSL_set_bio(ssl, bio, bio);
	o->SSL_set_ex_data(ssl, 0, s);
	if (accepted)
		o->SSL_set_accept_state(ssl);
	else
		o->SSL_set_connect_state(ssl);
	return s;
}

void secure_session_free(struct secure_session *s)
{
	if (!s)
		return;
	s->secure->o->SSL_free(s->ssl);
	free(s);
}

/* ---- data ---- */

void secure_feed(struct secure_session *s, const void *data, size_t length)
{
	s->in = data;
	s->in_length = length;
}

size_t secure_rest(const struct secure_session *s)
{
	return s->in_length;
}

/* Checks that the peer used a key. With keys, a finished handshake alone does not authenticate it.
 */
static int check_proof(struct secure_session *s, struct err_text *err)
{
	if (s->secure->by_key && !s->secure->o->SSL_session_reused(s->ssl))
		return err_set(err, -EACCES,
			       s->secure->paired
				       ? "it does not have our key: 'collector pair' there "
					 "and 'agent pair CODE' make one"
				       : "it does not have our key (--key)");
	s->done = true;
	if (!secure_known(s)) {
		s->done = false;
		return err_set(err, -EACCES, "its pair was revoked");
	}
	return 0;
}

bool secure_known(const struct secure_session *s)
{
	return !s->secure->by_key ||
	       (*s->identity && secure_find_identity(s->secure, s->identity) < s->secure->count);
}

const char *secure_identity(const struct secure_session *s)
{
	return s->done ? s->identity : "";
}

int secure_export(struct secure_session *s, const char *label, void *out, size_t length)
{
	const struct openssl *o = s->secure->o;
	int r = s->done ? o->SSL_export_keying_material(s->ssl, out, length, label, strlen(label),
							NULL, 0, 0)
			: 0;

	o->ERR_clear_error();
	return r == 1 ? 0 : -EPROTO;
}

int secure_shake(struct secure_session *s, struct err_text *err)
{
	const struct openssl *o = s->secure->o;
	int r, reason, result;

	o->ERR_clear_error();
	r = o->SSL_do_handshake(s->ssl);
	if (r == 1) {
		s->blocked = false;
		return check_proof(s, err);
	}
	reason = o->SSL_get_error(s->ssl, r);
	s->blocked = reason == SSL_ERROR_WANT_WRITE;
	if (reason == SSL_ERROR_WANT_READ || reason == SSL_ERROR_WANT_WRITE)
		return 1;
	result = secure_words(s, o->ERR_peek_error(), err);
	o->ERR_clear_error();
	return result;
}

bool secure_blocked(const struct secure_session *s)
{
	return s->blocked;
}

ssize_t secure_read(struct secure_session *s, void *data, size_t size, struct err_text *err)
{
	const struct openssl *o = s->secure->o;
	int n, reason, result;

	o->ERR_clear_error();
	n = o->SSL_read(s->ssl, data, size < INT_MAX ? (int)size : INT_MAX);
	if (n > 0)
		return n;
	reason = o->SSL_get_error(s->ssl, n);
	if (reason == SSL_ERROR_WANT_READ)
		return 0;
	if (reason == SSL_ERROR_ZERO_RETURN)
		return -ENODATA;
	if (reason != SSL_ERROR_SSL)
		return err_set(err, -EPROTO, "it asks for answers and does not read them");
	result = secure_words(s, o->ERR_peek_error(), err);
	o->ERR_clear_error();
	return result;
}

ssize_t secure_write(struct secure_session *s, const void *data, size_t length)
{
	const struct openssl *o = s->secure->o;
	int n;

	if (s->out_length)
		return -EAGAIN;
	if (!length)
		return 0;
	o->ERR_clear_error();
	n = o->SSL_write(s->ssl, data, length < SECURE_RECORD ? (int)length : SECURE_RECORD);
	o->ERR_clear_error();
	return n > 0 ? n : -EPROTO;
}

const uint8_t *secure_output(const struct secure_session *s, size_t *ret_length)
{
	*ret_length = s->out_length - s->out_at;
	return s->out + s->out_at;
}

void secure_sent(struct secure_session *s, size_t length)
{
	s->out_at += length;
	if (s->out_at < s->out_length)
		return;
	s->out_at = s->out_length = 0;
}

void secure_bye(struct secure_session *s)
{
	if (s->done && !s->out_length)
		s->secure->o->SSL_shutdown(s->ssl);
	s->secure->o->ERR_clear_error();
}
