#pragma once
/*
 * Connections whose first request has not come yet, and what is given to them: so many in all, so
 * many of one address, so long. A flood from one address costs that address its places
 * (strangers.h). What has come of a request is looked at (MSG_PEEK), and its connection becomes the
 * library's when the whole head is there.
 *
 * People write `...?from=50%&count=3`, and browsers and curl send it so, though a percent sign that
 * stands for itself should be "%25". The HTTP library answers that with an error page of its own
 * before anybody can look at it. So where the first line has such a sign it is read here, and put
 * right.
 *
 * The library takes "%0A" and "%0D" for the end of the request line, too, and drops what follows:
 * they go through it as bytes that no text has.
 *
 * This holds for the first request of a connection. By TLS nothing of it can be seen: there it is
 * the first record, the client's hello, that has to be whole, and who speaks plain HTTP is told.
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
	/* Takes the connection over, with what of it was read already (none: NULL, 0). */
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
/* Closes all; their memory is freed by the loop. */
void greetings_close(struct greetings *greetings);

/* Appends the line with "%25" for each percent sign that no two hexadecimal digits follow, and
 * stand-ins for ends of lines. True if there was one. */
bool greeting_mend(const char *line, size_t length, struct buf *out);
/* Puts ends of lines back in what the library made of it. */
void greeting_restore(char *text);
