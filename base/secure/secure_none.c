/* The build without TLS. secure.h describes the interface. */
#include "base/secure/secure.h"

#include <errno.h>

#include "base/error.h"
#include "base/ban.h"

const char *secure_library(void)
{
	return "no (HEAPCAST_TLS=OFF)";
}

int secure_open(const struct secure_options *options, struct secure **ret_secure,
		struct err_text *err)
{
	(void)options;
	(void)ret_secure;
	return err_set(err, -ENOTSUP,
		       "keys and certificates can't be used: this build has no TLS "
		       "(HEAPCAST_TLS=OFF)");
}

int secure_check_files(const char *cert, const char *cert_key, struct err_text *err)
{
	(void)cert;
	(void)cert_key;
	return err_set(err, -ENOTSUP,
		       "certificates can't be used: this build has no TLS (HEAPCAST_TLS=OFF)");
}

void secure_close(struct secure *secure)
{
	(void)secure;
}

size_t secure_keys(const struct secure *secure)
{
	(void)secure;
	return 0;
}

int secure_rekey(struct secure *secure, const struct secret *secrets, size_t count,
		 struct err_text *err)
{
	(void)secure;
	(void)secrets;
	(void)count;
	(void)err;
	return -ENOTSUP;
}

size_t secure_find(const struct secure *secure, const uint8_t id[SECRET_ID_SIZE])
{
	(void)secure;
	(void)id;
	return 0;
}

bool secure_known(const struct secure_session *session)
{
	(void)session;
	return false;
}

const char *secure_identity(const struct secure_session *session)
{
	(void)session;
	return "";
}

int secure_export(struct secure_session *session, const char *label, void *out, size_t length)
{
	(void)session;
	(void)label;
	(void)out;
	(void)length;
	return -ENOTSUP;
}

const char *secure_remark(const struct secure *secure)
{
	(void)secure;
	return NULL;
}

struct secure_session *secure_session_new(struct secure *secure, bool accepted, size_t key)
{
	(void)secure;
	(void)accepted;
	(void)key;
	return NULL;
}

void secure_session_free(struct secure_session *session)
{
	(void)session;
}

void secure_feed(struct secure_session *session, const void *data, size_t length)
{
	(void)session;
	(void)data;
	(void)length;
}

int secure_shake(struct secure_session *session, struct err_text *err)
{
	(void)session;
	(void)err;
	return -ENOTSUP;
}

size_t secure_rest(const struct secure_session *session)
{
	(void)session;
	return 0;
}

bool secure_blocked(const struct secure_session *session)
{
	(void)session;
	return false;
}

ssize_t secure_read(struct secure_session *session, void *data, size_t size, struct err_text *err)
{
	(void)session;
	(void)data;
	(void)size;
	(void)err;
	return -ENOTSUP;
}

ssize_t secure_write(struct secure_session *session, const void *data, size_t length)
{
	(void)session;
	(void)data;
	(void)length;
	return -ENOTSUP;
}

const uint8_t *secure_output(const struct secure_session *session, size_t *ret_length)
{
	(void)session;
	*ret_length = 0;
	return NULL;
}

void secure_sent(struct secure_session *session, size_t length)
{
	(void)session;
	(void)length;
}

void secure_bye(struct secure_session *session)
{
	(void)session;
}
