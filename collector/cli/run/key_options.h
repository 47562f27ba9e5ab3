#pragma once
/* Options of commands that talk to agents: which keys or certificates they use. */
#include "collector/cli/command.h"
#include "collector/cli/run/pair_options.h"

struct err_text;
struct ingest_options;
struct secret;

struct key_choice {
	struct option_list keys;
	const char *cert, *cert_key, *ca;
	const char *pairs; /* NULL: the default folder; "": none */
	bool paired_only;
};

#define KEY_OPTIONS(type, field)                                                                   \
	OPTION_LIST(type, field.keys, "key", "FILE",                                               \
		    "talk to agents that have this key, too, and to nobody else, by TLS: a file "  \
		    "of mode 0600, made "                                                          \
		    "by 'openssl rand -hex 32'; may be given more than once"),                     \
		OPTION_TEXT(type, field.cert, "cert", "FILE",                                      \
			    "instead of keys: talk by TLS to agents whose certificate is signed "  \
			    "by --ca, and show them this "                                         \
			    "one (PEM)"),                                                          \
		OPTION_TEXT(type, field.cert_key, "cert-key", "FILE",                              \
			    "its private key, a file of mode 0600"),                               \
		OPTION_TEXT(type, field.ca, "ca", "FILE",                                          \
			    "who signs the certificates of members"),                              \
		PAIRS_OPTION(type, field.pairs),                                                   \
		OPTION_FLAG(                                                                       \
			type, field.paired_only, "paired-only",                                    \
			"of keys by pairing: talk to agents that have one, and to nobody else")

/* Reads the keys into `ret_options`. The caller owns them (key_options_free), and they must outlive
 * the ingest. Returns 0, or a negative errno with an error text. */
int key_options_read(const struct key_choice *choice, struct secret **ret_secrets,
		     struct ingest_options *ret_options, struct err_text *err);
void key_options_free(struct secret *secrets, size_t count);
