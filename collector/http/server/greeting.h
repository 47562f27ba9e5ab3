#pragma once
/*
 * Connections whose first request has not arrived yet. They get limited places: so many in all, so
 * many for one address, and for so long. So a flood from one address costs that address its places,
 * and not others theirs (strangers.h). The server only looks at what has arrived of a request
 * (MSG_PEEK). Once the whole head is there, the HTTP library gets the connection.
 *
 * People write `...?from=50%&count=3`, and browsers and curl send it so, although a percent sign
 * that stands for itself has to be "%25". The HTTP library answers such a request with an error
 * page of its own before anybody can look at it. So if the first line has such a sign, it is read
 * here and corrected.
 *
 * The library also takes "%0A" and "%0D" for the end of the request line, and drops what follows.
 * So they pass through it as bytes that no text has.
 *
 * All this holds for the first request of a connection. With TLS the request can't be seen: there
 * the first record, the client's hello, has to be complete, and a client that speaks plain HTTP is
 * told so.
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
	/* Takes over the connection, with the data that was already read from it (none: NULL, 0).
	 */
	void (*adopt)(void *context, int fd, const struct stranger_address *from, const void *data,
		      size_t length);
	void *context;
};

void greetings_init(struct greetings *greetings, uv_loop_t *loop, bool tls,
		    void (*adopt)(void *context, int fd, const struct stranger_address *from,
				  const void *data, size_t length),
		    void *context);
/* Takes over a connection that does not block. */
void greetings_add(struct greetings *greetings, int fd, const struct sockaddr *from);
/* Closes all connections; the loop frees their memory. */
void greetings_close(struct greetings *greetings);

/* Appends the line, with "%25" for each percent sign without two hexadecimal digits behind it, and
 * with stand-ins for ends of lines. Returns true if anything was replaced. */
bool greeting_mend(const char *line, size_t length, struct buf *out);
/* Replaces the stand-ins in the library's text by ends of lines. */
void greeting_restore(char *text);
