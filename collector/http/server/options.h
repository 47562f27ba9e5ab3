#pragma once
/* The options of the server. */
#include <stdint.h>

struct site_rules;

#define HTTP_DEFAULT_ADDRESS "127.0.0.1"
#define HTTP_DEFAULT_PORT    8080

struct http_options {
	const char *address; /* NULL: HTTP_DEFAULT_ADDRESS. A numeric address, IPv4 or IPv6, or
				"localhost" */
	uint16_t port;	     /* 0: any free port; see http_port */
	const char *token; /* (token.h) for orders, and beyond loopback for all requests; NULL: the
			      server makes a token, on loopback only */
	const char *tls_cert, *tls_key; /* files, PEM, that secure_check_files has looked at; NULL:
					   plain HTTP, on loopback only */
	const char *const *allow_hosts; /* NULL-terminated: the host names for which a proxy ends
					   TLS; NULL: no proxy */
	const char *store;		/* URL of the data base that collectors share; NULL: none */
	const char *data;	  /* folder of a store, which need not exist yet; NULL: none */
	const char *const *files; /* recordings served beside it, NULL-terminated; may be NULL. They
				     are opened at the start */
	const char *const *symbol_folders; /* NULL-terminated; may be NULL */
	const char *const *debuginfod;	   /* URLs, NULL-terminated; NULL: no server is asked */
	uint64_t debuginfod_seconds;	   /* time limit; 0: the default of symbols.h */
	const char *const *source_folders; /* "DIR" or "FROM=DIR" (source_files.h), NULL-terminated;
					      may be NULL */
	/* Limits for imports. import_bytes: size of a file, and of its recording (0: half of the
	 * free disk). import_memory: bytes of memory (0: a quarter of the machine's). */
	uint64_t import_bytes, import_memory;
	const struct site_rules
		*rules; /* functions that only pass allocations on; NULL: the built-in list */
	/* Progress of opening `files`. See recording_open. */
	int (*progress)(void *context, uint64_t done, uint64_t of);
	void *progress_context;
};
