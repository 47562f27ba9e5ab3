#pragma once
/*
 * Handles connections whose first request has not arrived yet. The places for them are limited: in
 * total, per address, and in time. So a flood from one address uses up the places of that address,
 * not those of others (strangers.h). The server only peeks at the data (MSG_PEEK). The HTTP library
 * gets the connection once the whole head has arrived.
 *
 * People write `...?from=50%&count=3`, and browsers and curl send it so, although a literal percent
 * sign has to be "%25". The HTTP library answers such a request with its own error page before any
 * callback runs. So a first line with such a sign is read here and corrected.
 *
 * The library also takes "%0A" and "%0D" for the end of the request line, and drops the rest. So
 * they are replaced by bytes that never occur in UTF-8, and restored later.
 *
 * This holds for the first request of a connection only. With TLS the request is encrypted. There
 * the first TLS record, the client's hello, has to be complete, and a client that speaks plain HTTP
 * is told to use TLS.
 */
#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "base/buf.h"
#include "base/secure/strangers.h"

struct greetings {
	uv_loop_t *loop;
	bool tls;
	struct greeting *list;
	unsigned count;
	/* Takes over the connection, and the data already read from it (NULL, 0 if none). */
	void (*adopt)(void *context, int fd, const struct stranger_address *from, const void *data,
		      size_t length);
	void *context;
};

void greetings_init(struct greetings *greetings, uv_loop_t *loop, bool tls,
		    void (*adopt)(void *context, int fd, const struct stranger_address *from,
				  const void *data, size_t length),
		    void *context);
/* Takes over a non-blocking connection. */
void greetings_add(struct greetings *greetings, int fd, const struct sockaddr *from);
/* Closes all connections; the loop frees their memory. */
void greetings_close(struct greetings *greetings);

/* Appends the line. Replaces each percent sign that is not followed by two hexadecimal digits by
 * "%25", and escaped ends of lines by stand-ins. Returns true if anything was replaced. */
bool greeting_mend(const char *line, size_t length, struct buf *out);
/* Replaces the stand-ins in the library's text by the ends of lines. */
void greeting_restore(char *text);
