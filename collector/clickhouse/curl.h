#pragma once
/*
 * libcurl, loaded only when a ClickHouse server is asked: most collectors never do. A table holds
 * the functions that we call. Their types come from libcurl's own headers. Only this folder
 * includes this file.
 */
#define CURL_DISABLE_TYPECHECK /* its macros would hide the members of the table */
#include <curl/curl.h>

struct err_text;

#define CURL_FUNCTIONS(X)                                                                          \
	X(curl_easy_cleanup)                                                                       \
	X(curl_easy_escape)                                                                        \
	X(curl_easy_getinfo)                                                                       \
	X(curl_easy_init)                                                                          \
	X(curl_easy_perform)                                                                       \
	X(curl_easy_setopt)                                                                        \
	X(curl_easy_strerror)                                                                      \
	X(curl_free)                                                                               \
	X(curl_global_init)                                                                        \
	X(curl_slist_append)                                                                       \
	X(curl_slist_free_all)

struct curl {
#define CURL_MEMBER(name) __typeof__(&name) name;
	CURL_FUNCTIONS(CURL_MEMBER)
#undef CURL_MEMBER
};

/* Returns the table, which stays for good. Returns NULL with a sentence if libcurl can't be loaded.
 * Any thread may call it. */
const struct curl *curl_load(struct err_text *err);
