/* Loads libcurl at run time. curl.h describes the interface. */
#include "collector/clickhouse/curl.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#include "base/error.h"

#include "base/ban.h"

#define LIBRARY "libcurl.so.4"

static struct curl table;
static struct err_text failure;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void *curl_find(void *library, const char *name)
{
	void *function = dlsym(library, name);

	if (!function)
		err_set(&failure, -ENOENT, "the %s of this system has no %s", LIBRARY, name);
	return function;
}

static void curl_fill(void)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!library) {
		err_set(&failure, -ENOENT,
			"asking ClickHouse needs libcurl, and %s can't be loaded (Debian: package "
			"libcurl4)",
			LIBRARY);
		return;
	}
#define CURL_FILL(name) *(void **)&table.name = curl_find(library, #name);
	CURL_FUNCTIONS(CURL_FILL)
#undef CURL_FILL
	if (!*failure.text && table.curl_global_init(CURL_GLOBAL_DEFAULT))
		err_set(&failure, -EIO, "libcurl does not start");
}

const struct curl *curl_load(struct err_text *err)
{
	pthread_once(&once, curl_fill);
	if (!*failure.text)
		return &table;
	if (err)
		*err = failure;
	return NULL;
}
