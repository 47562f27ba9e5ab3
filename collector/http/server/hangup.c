/* See hangup.h. */
#include "collector/http/server/hangup.h"

#include <libwebsockets.h>
#include <poll.h>

#include "collector/http/server/exchange.h"

#include "base/ban.h"

/* A client that closes its half only, and would still read, can't be told from one that has gone.
 * It has its answer if that takes no longer than this; then, as other servers do, we take it for
 * gone. A browser never closes half of a connection. */
#define HALF_CLOSED_MS 3000

void hangup_look(struct exchange *x)
{
	struct pollfd fd = {.fd = lws_get_socket_fd(x->connection), .events = POLLRDHUP};

	if (!x->browser && uv_now(x->workers->loop) - x->begun_ms < HALF_CLOSED_MS)
		return;
	if (poll(&fd, 1, 0) > 0)
		lws_set_timeout(x->connection, PENDING_TIMEOUT_HTTP_CONTENT, LWS_TO_KILL_ASYNC);
}
