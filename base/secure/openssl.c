/* Loads OpenSSL at run time. openssl.h describes the interface. */
#include "base/secure/openssl.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#include "base/error.h"
#include "base/ban.h"

/*
 * We write our own messages, so OpenSSL's error strings are not loaded. OpenSSL's configuration
 * file is skipped because the system keeps it for other programs.
 */
#define INIT                                                                                       \
	(OPENSSL_INIT_NO_LOAD_CRYPTO_STRINGS | OPENSSL_INIT_NO_LOAD_SSL_STRINGS |                  \
	 OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT)

#define NAME_OF(library, major) library ".so." #major
#define NAME(library, major)	NAME_OF(library, major)

static struct openssl table;
static struct err_text failure;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void *open_library(const char *name)
{
	void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		err_set(&failure, -ENOENT,
			"keys and certificates need OpenSSL, and %s can't be loaded (Debian: "
			"package libssl3)",
			name);
	return library;
}

static void *openssl_find(void *library, const char *name)
{
	void *function = library ? dlsym(library, name) : NULL;

	if (library && !function)
		err_set(&failure, -ENOENT, "the OpenSSL of this system has no %s", name);
	return function;
}

static void load(void)
{
	void *crypto = open_library(NAME("libcrypto", OPENSSL_VERSION_MAJOR)),
	     *ssl = crypto ? open_library(NAME("libssl", OPENSSL_VERSION_MAJOR)) : NULL;

#define FILL_CRYPTO(name) *(void **)&table.name = openssl_find(crypto, #name);
	OPENSSL_OF_CRYPTO(FILL_CRYPTO)
#undef FILL_CRYPTO
#define FILL_SSL(name) *(void **)&table.name = openssl_find(ssl, #name);
	OPENSSL_OF_SSL(FILL_SSL)
#undef FILL_SSL
	if (!*failure.text && !table.OPENSSL_init_ssl(INIT, NULL))
		err_set(&failure, -EIO, "OpenSSL does not start");
}

const struct openssl *openssl_load(struct err_text *err)
{
	pthread_once(&once, load);
	if (!*failure.text)
		return &table;
	if (err)
		*err = failure;
	return NULL;
}
