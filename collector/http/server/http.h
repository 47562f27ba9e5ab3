#pragma once
/*
 * The collector's REST API and its page (docs/rest-api.md), served by a thread of its own. Reads
 * stores and recordings; writes nothing. Who gives orders has to bring a token; on an address that
 * others reach, too, whoever asks (access.h).
 */
#include <stdint.h>

struct err_text;
struct http;
struct site_rules;

#define HTTP_DEFAULT_ADDRESS "127.0.0.1"
#define HTTP_DEFAULT_PORT    8080

struct http_options {
	const char *address; /* NULL: HTTP_DEFAULT_ADDRESS. A numeric address, IPv4 or IPv6, or
				"localhost" */
	uint16_t port;	     /* 0: any free one, see http_port */
	const char *token; /* (token.h) for orders, and beyond loopback for all; NULL: one is made,
			      on loopback only */
	const char *tls_cert, *tls_key; /* files, PEM, that secure_check_files has looked at; NULL:
					   plain HTTP, on loopback only */
	const char *const *allow_hosts; /* NULL-terminated: a proxy speaks TLS for us, to who asks
					   for one of these names; NULL: none does */
	const char *data;		/* folder of a store; NULL: none. It need not exist yet */
	const char *const *files; /* recordings served beside it, NULL-terminated; may be NULL. They
				     are opened at the start */
	const char *const *symbol_folders; /* NULL-terminated; may be NULL */
	const char *const *debuginfod;	   /* URLs, NULL-terminated; may be NULL: nobody is asked */
	uint64_t debuginfod_seconds;	   /* 0: the usual; symbols.h */
	const char *const *source_folders; /* "DIR" or "FROM=DIR" (source_files.h), NULL-terminated;
					      may be NULL */
	/* Of files that are imported: bytes of one, and of the recording that it becomes (0: as far
	 * as half of the free disk goes); bytes of memory for that (0: a quarter of the
	 * machine's). */
	uint64_t import_bytes, import_memory;
	const struct site_rules
		*rules; /* functions that only pass allocations on; NULL: the known ones */
	/* Of opening the files; see recording_open. */
	int (*progress)(void *context, uint64_t done, uint64_t of);
	void *progress_context;
};

/* -EPERM (an address that others reach, without a token or TLS), -EADDRINUSE, -EACCES,
 * -EADDRNOTAVAIL, -EINVAL (not an address), -EBADMSG (a file is no recording)...: the sentence says
 * what to do. The texts of `options` are used until http_stop. */
int http_start(const struct http_options *options, struct http **ret_http, struct err_text *err);
/* Would it listen there? Otherwise as http_start says. */
int http_may_start(const struct http_options *options, struct err_text *err);
/* Where it listens, as a browser takes it: "http://127.0.0.1:8080/#token=TOKEN" if the token was
 * made, which nobody else knows; without if it was given. */
const char *http_url(const struct http *http);
uint16_t http_port(const struct http *http);
/* Closes all connections, ends the thread and frees everything. May wait for a query to notice. */
void http_stop(struct http *http);
