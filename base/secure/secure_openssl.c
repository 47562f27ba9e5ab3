/* Configures OpenSSL with our keys or certificates. secure.h describes the interface. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/secure/private_file.h"
#include "base/secure/secure_state.h"
#include "base/ban.h"

/* Both suites hash with SHA-256, because a pre-shared key is bound to a hash (RFC 8446, 4.2.11). */
#define SUITES "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256"

static const unsigned char key_suite[] = {0x13, 0x01};
static const unsigned char context_name[] = {'h', 'e', 'a', 'p'}; /* OpenSSL requires one */

static_assert(SECRET_MAC_SIZE == 32, "a key for TLS is as long as SHA-256's result");

SSL_SESSION *secure_key_session(const struct secure *s, SSL *ssl, size_t key)
{
	const struct openssl *o = s->o;
	SSL_SESSION *session = o->SSL_SESSION_new();

	if (session && o->SSL_SESSION_set1_master_key(session, s->psk[key], SECRET_MAC_SIZE) &&
	    o->SSL_SESSION_set_cipher(session, o->SSL_CIPHER_find(ssl, key_suite)) &&
	    o->SSL_SESSION_set1_id_context(session, context_name, sizeof(context_name)) &&
	    o->SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION))
		return session;
	o->SSL_SESSION_free(session);
	return NULL;
}

/* Slot 0 holds the struct secure_session. SSL_set_app_data, a macro, uses the same slot. */
static struct secure_session *session_of(const struct openssl *o, const SSL *ssl)
{
	return o->SSL_get_ex_data(ssl, 0);
}

size_t secure_find_identity(const struct secure *s, const void *identity)
{
	size_t i = 0;

	while (i < s->count && memcmp(s->identity[i], identity, SECURE_IDENTITY))
		i++;
	return i;
}

/* Stores the key's index and its identity, which stays the same when indices change. */
static void choose_key(struct secure_session *session, size_t key)
{
	session->key = key;
	memcpy(session->identity, session->secure->identity[key], sizeof(session->identity));
}

/* The client's callback. OpenSSL calls it again if the server asks for another key exchange. */
static int offer_key(SSL *ssl, const EVP_MD *hash, const unsigned char **ret_id, size_t *ret_length,
		     SSL_SESSION **ret_session)
{
	struct secure_session *session = session_of(openssl_load(NULL), ssl);
	struct secure *s = session->secure;
	size_t key = *session->identity ? secure_find_identity(s, session->identity) : session->key;

	(void)hash;
	*ret_session = key < s->count ? secure_key_session(s, ssl, key) : NULL;
	if (!*ret_session)
		return 0;
	choose_key(session, key);
	*ret_id = (const unsigned char *)session->identity;
	*ret_length = SECURE_IDENTITY;
	return 1;
}

/*
 * The server's callback. An unknown identity is no error here: the handshake continues without a
 * key and fails for lack of a certificate.
 */
static int find_key(SSL *ssl, const unsigned char *id, size_t length, SSL_SESSION **ret_session)
{
	struct secure_session *session = session_of(openssl_load(NULL), ssl);
	struct secure *s = session->secure;
	size_t key = length == SECURE_IDENTITY ? secure_find_identity(s, id) : s->count;

	session->offered = true;
	*ret_session = NULL;
	if (key == s->count)
		return 1;
	session->known = true;
	choose_key(session, key);
	*ret_session = secure_key_session(s, ssl, key);
	return *ret_session != NULL;
}

static void note_date(const struct openssl *o, const X509 *certificate,
		      struct secure_session *session)
{
	const ASN1_TIME *date = session->certificate_error == X509_V_ERR_CERT_HAS_EXPIRED
					? o->X509_get0_notAfter(certificate)
					: o->X509_get0_notBefore(certificate);

	if (!o->ASN1_TIME_to_tm(date, &session->certificate_date))
		session->certificate_date = (struct tm){.tm_mday = 1, .tm_year = 70};
}

/* Rejects whatever OpenSSL rejects, and records the reason. */
static int check_certificate(int good, X509_STORE_CTX *store)
{
	const struct openssl *o = openssl_load(NULL);
	const SSL *ssl =
		o->X509_STORE_CTX_get_ex_data(store, o->SSL_get_ex_data_X509_STORE_CTX_idx());
	struct secure_session *session = session_of(o, ssl);
	const X509 *certificate = o->X509_STORE_CTX_get_current_cert(store);

	if (good)
		return 1;
	session->certificate_error = o->X509_STORE_CTX_get_error(store);
	if (certificate)
		note_date(o, certificate, session);
	return 0;
}

int secure_rekey(struct secure *s, const struct secret *secrets, size_t count, struct err_text *err)
{
	uint8_t psk[SECURE_KEYS_MAX][SECRET_MAC_SIZE] = {{0}};
	int r = 0;

	if (count > SECURE_KEYS_MAX)
		return err_set(err, -E2BIG, "there can be %d keys, here are %zu", SECURE_KEYS_MAX,
			       count);
	for (size_t i = 0; !r && i < count; i++)
		r = secret_mac(&secrets[i], "tls", "", 0, psk[i]);
	if (!r) {
		memcpy(s->psk, psk, sizeof(psk));
		s->count = count;
	}
	for (size_t i = 0; !r && i < count; i++)
		for (unsigned j = 0; j < SECRET_ID_SIZE; j++)
			snprintf(s->identity[i] + 2 * j, 3, "%02x", secrets[i].id[j]);
	explicit_bzero(psk, sizeof(psk));
	return r < 0 ? err_set(err, r, "OpenSSL can't use a key: %s", strerror(-r)) : 0;
}

static int use_keys(struct secure *s, const struct secure_options *options, struct err_text *err)
{
	s->by_key = true;
	s->paired = options->paired;
	s->o->SSL_CTX_set_psk_use_session_callback(s->context, offer_key);
	s->o->SSL_CTX_set_psk_find_session_callback(s->context, find_key);
	return secure_rekey(s, options->secrets, options->secret_count, err);
}

/* Refuses to ask for a password, because the process runs unattended. */
static int no_password(char *out, int size, int writing, void *context)
{
	(void)out;
	(void)size;
	(void)writing;
	(void)context;
	return -1;
}

static int use_private_key(const struct openssl *o, SSL_CTX *context, const char *path,
			   struct err_text *err)
{
	char text[PRIVATE_FILE_MAX + 2];
	EVP_PKEY *key = NULL;
	size_t length;
	BIO *bio = NULL;
	int r = private_file_read(path, "key of the certificate", text, &length, err);

	if (!r)
		bio = o->BIO_new_mem_buf(text, (int)length);
	if (bio)
		key = o->PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL);
	if (!r && !key)
		r = err_set(err, -EINVAL,
			    "%s holds no private key in PEM form (without a password)", path);
	if (!r && o->SSL_CTX_use_PrivateKey(context, key) != 1)
		r = err_set(err, -EINVAL, "%s is not the key of the certificate", path);
	o->BIO_free(bio);
	o->EVP_PKEY_free(key);
	explicit_bzero(text, sizeof(text));
	return r;
}

static int check_readable(const char *path, const char *what, struct err_text *err)
{
	cleanup(cleanup_fclose) FILE *file = fopen(path, "re");

	return file ? 0
		    : err_set(err, -errno, "cannot open the %s %s: %s", what, path,
			      strerror(errno));
}

/*
 * Loads a certificate with its chain and its key, which must match and be in date. Returns 1, with
 * a remark, if this machine's clock cannot tell the date.
 */
static int use_pair(const struct openssl *o, SSL_CTX *context, const char *cert,
		    const char *cert_key, struct err_text *ret_remark, struct err_text *err)
{
	char whose[320];
	int r = check_readable(cert, "certificate", err);

	if (r < 0)
		return r;
	if (o->SSL_CTX_use_certificate_chain_file(context, cert) != 1)
		return err_set(err, -EINVAL, "%s holds no certificate in PEM form", cert);
	r = use_private_key(o, context, cert_key, err);
	if (r < 0)
		return r;
	if (o->SSL_CTX_check_private_key(context) != 1)
		return err_set(err, -EINVAL, "%s is not the key of the certificate %s", cert_key,
			       cert);
	snprintf(whose, sizeof(whose), "the certificate %.300s", cert);
	r = secure_check_dates(o, o->SSL_CTX_get0_certificate(context), whose, ret_remark);
	return r < 0 ? err_set(err, r, "%s", ret_remark->text) : r;
}

static int use_certificate(struct secure *s, const struct secure_options *options,
			   struct err_text *err)
{
	struct err_text dates = {{0}};
	int r = check_readable(options->cert, "certificate", err);

	if (!r)
		r = check_readable(options->ca, "CA's certificate", err);
	if (!r)
		r = use_pair(s->o, s->context, options->cert, options->cert_key, &dates, err);
	if (r < 0)
		return r;
	if (s->o->SSL_CTX_load_verify_file(s->context, options->ca) != 1)
		return err_set(err, -EINVAL, "%s holds no certificate in PEM form", options->ca);
	snprintf(s->remark, sizeof(s->remark), "%.250s", dates.text);
	return 0;
}

int secure_check_files(const char *cert, const char *cert_key, struct err_text *err)
{
	const struct openssl *o = openssl_load(err);
	SSL_CTX *context = o ? o->SSL_CTX_new(o->TLS_method()) : NULL;
	struct err_text dates = {{0}};
	int r;

	if (!context)
		return o ? -ENOMEM : -ENOTSUP;
	r = use_pair(o, context, cert, cert_key, &dates, err);
	o->SSL_CTX_free(context);
	o->ERR_clear_error();
	return r < 0 ? r : 0;
}

/* Checks that the options name either keys or certificates, and that certificates are complete. */
static int check_kind(const struct secure_options *options, struct err_text *err)
{
	unsigned files = !!options->cert + !!options->cert_key + !!options->ca;

	if ((options->secret_count || options->paired) && files)
		return err_set(err, -EINVAL,
			       "either a key (--key) or certificates (--cert, --cert-key, --ca), "
			       "not both");
	if (files && files < 3)
		return err_set(err, -EINVAL,
			       "certificates take all three, --cert, --cert-key and --ca: --%s is "
			       "missing",
			       !options->cert	    ? "cert"
			       : !options->cert_key ? "cert-key"
						    : "ca");
	return 0;
}

static int make_context(struct secure *s, struct err_text *err)
{
	const struct openssl *o = s->o;

	s->context = o->SSL_CTX_new(o->TLS_method());
	if (!s->context ||
	    !o->SSL_CTX_ctrl(s->context, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_3_VERSION, NULL) ||
	    !o->SSL_CTX_ctrl(s->context, SSL_CTRL_SET_MAX_SEND_FRAGMENT, SECURE_RECORD, NULL) ||
	    !o->SSL_CTX_set_ciphersuites(s->context, SUITES) ||
	    !o->SSL_CTX_set_num_tickets(s->context, 0) ||
	    !o->SSL_CTX_set_session_id_context(s->context, context_name, sizeof(context_name)))
		return err_set(err, -ENOTSUP, "the OpenSSL of this system has no TLS 1.3");
	o->SSL_CTX_set_options(s->context,
			       SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
	o->SSL_CTX_ctrl(s->context, SSL_CTRL_SET_SESS_CACHE_MODE, SSL_SESS_CACHE_OFF, NULL);
	/* With keys there is no CA, so a peer that shows a certificate fails. */
	o->SSL_CTX_set_verify(s->context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
			      check_certificate);
	return 0;
}

const char *secure_library(void)
{
	const struct openssl *o = openssl_load(NULL);

	return o ? o->OpenSSL_version(OPENSSL_VERSION) : "built in, but no OpenSSL is installed";
}

int secure_open(const struct secure_options *options, struct secure **ret_secure,
		struct err_text *err)
{
	const struct openssl *o;
	struct secure *s;
	int r = check_kind(options, err);

	if (r < 0)
		return r;
	o = openssl_load(err);
	if (!o)
		return -ENOTSUP;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->o = o;
	s->bio = secure_bio_new(o);
	r = s->bio ? make_context(s, err) : -ENOMEM;
	if (!r)
		r = options->secret_count || options->paired ? use_keys(s, options, err)
							     : use_certificate(s, options, err);
	o->ERR_clear_error();
	if (r < 0) {
		secure_close(s);
		return r;
	}
	*ret_secure = s;
	return 0;
}

void secure_close(struct secure *s)
{
	if (!s)
		return;
	s->o->SSL_CTX_free(s->context);
	if (s->bio)
		s->o->BIO_meth_free(s->bio);
	explicit_bzero(s, sizeof(*s));
	free(s);
}

size_t secure_keys(const struct secure *s)
{
	return s->by_key ? s->count : 1;
}

size_t secure_find(const struct secure *s, const uint8_t id[SECRET_ID_SIZE])
{
	char identity[SECURE_IDENTITY + 1];

	for (unsigned i = 0; i < SECRET_ID_SIZE; i++)
		snprintf(identity + 2 * i, 3, "%02x", id[i]);
	return secure_find_identity(s, identity);
}

const char *secure_remark(const struct secure *s)
{
	return *s->remark ? s->remark : NULL;
}
