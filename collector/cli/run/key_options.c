/* Reads keys and certificates for gather. See key_options.h. */
#include "collector/cli/run/key_options.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/secure/secure.h"
#include "collector/ingest/ingest.h"
#include "base/ban.h"

int key_options_read(const struct key_choice *choice, struct secret **ret_secrets,
		     struct ingest_options *ret_options, struct err_text *err)
{
	size_t count = choice->keys.count;
	struct secret *secrets = NULL;
	int r = 0;

	if (count > SECURE_KEYS_MAX)
		return err_set(err, -EINVAL, "there can be %d keys", SECURE_KEYS_MAX);
	if (count) {
		secrets = calloc(count, sizeof(*secrets));
		r = secrets ? 0 : -ENOMEM;
	}
	for (size_t i = 0; !r && i < count; i++)
		r = secret_read(choice->keys.texts[i], &secrets[i], err);
	if (r < 0) {
		key_options_free(secrets, secrets ? count : 0);
		return r;
	}
	ret_options->secrets = secrets;
	ret_options->secret_count = count;
	ret_options->cert = choice->cert;
	ret_options->cert_key = choice->cert_key;
	ret_options->ca = choice->ca;
	*ret_secrets = secrets;
	return 0;
}

void key_options_free(struct secret *secrets, size_t count)
{
	for (size_t i = 0; i < count; i++)
		secret_clear(&secrets[i]);
	free(secrets);
}
