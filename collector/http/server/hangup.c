/* Detects clients that have disconnected. See hangup.h. */
#include "collector/http/server/hangup.h"

#include <libwebsockets.h>
#include <poll.h>

#include "collector/http/server/exchange.h"

#include "base/ban.h"

/* A client that closes only its sending half, and still reads, looks the same as one that has gone.
 * It gets its answer if that takes no longer than this. After that the server treats it as gone, as
 * other servers do. Browsers never close only one half. */
#define HALF_CLOSED_MS 3000

void hangup_look(struct exchange *x)
{
	struct pollfd fd = {.fd = lws_get_socket_fd(x->connection), .events = POLLRDHUP};

	if (!x->browser && uv_now(x->workers->loop) - x->begun_ms < HALF_CLOSED_MS)
		return;
	if (poll(&fd, 1, 0) > 0)
		lws_set_timeout(x->connection, PENDING_TIMEOUT_HTTP_CONTENT, LWS_TO_KILL_ASYNC);
}
