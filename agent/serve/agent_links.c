/* Opens the agent's links to collectors: those that it listens for, and the one that it dials. See
 * agent.h, dialer.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "agent/net/endpoint.h"
#include "agent/serve/agent.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/proc/file.h"
#include "proto/discovery.h"
#include "proto/frame.h"
#include "base/ban.h"

#define PORTS_TRIED (AGENT_TCP_PORT_LAST - AGENT_TCP_PORT_FIRST) /* beyond the first */

static void ordered(void *context)
{
	struct agent *a = context;

	drain_kick(&a->drain);
}

static uint32_t live_streams(void *context)
{
	return agent_live(context);
}

int agent_check(const struct agent_settings *s, struct err_text *err)
{
	struct sockaddr_storage address;
	uint16_t port = 0;
	int r = s->listen && *s->listen ? endpoint_listen(s->listen, &address, &port, err) : 0;

	return r < 0 ? r : endpoint_collectors(s->collector, err);
}

static int open_listener(struct agent *a, struct err_text *err)
{
	uint16_t first = AGENT_TCP_PORT_FIRST, last = AGENT_TCP_PORT_LAST, port = 0;
	struct sockaddr_storage address = {0};
	bool narrow = false;
	int r = 0;

	if (a->settings.base_port) {
		first = a->settings.base_port;
		last = first > UINT16_MAX - PORTS_TRIED ? UINT16_MAX : first + PORTS_TRIED;
	}
	if (a->settings.listen && *a->settings.listen) {
		r = endpoint_listen(a->settings.listen, &address, &port, err);
		first = port ? port : first;
		last = port ? port : last;
	} else if (a->settings.interface) {
		r = endpoint_interface(a->settings.interface, &address, &narrow, err);
	}
	if (r < 0)
		return r;
	if (a->settings.listen_fd)
		r = listener_adopt(&a->listener, &a->loop, &a->pending_peers,
				   a->budget.socket_buffer, a->settings.listen_fd);
	else
		r = listener_open(&a->listener, &a->loop, &a->pending_peers,
				  a->budget.socket_buffer, &address, first, last, err);
	if (r < 0)
		return r;
	a->listener.interface = narrow && !a->settings.listen_fd ? a->settings.interface : NULL;
	a->listener.only = &a->dialer;
	log_info("listening for collectors on port %u", a->listener.port);
	return a->settings.announce
		       ? beacon_open(&a->beacon, &a->loop, a->settings.interface, &a->keys, a->id,
				     a->listener.port, live_streams, a, err)
		       : 0;
}

/* Returns a number by which the agent chooses among collectors. It is the same after each start: it
 * comes from the host's name, its machine-id, and the socket where programs ask. */
static uint64_t agent_identity(const struct agent *a)
{
	static const struct hash_key key = {{0x6167656e74, 0x6964656e74697479}};
	char machine[64] = "", text[512];
	struct utsname host;
	int n;

	uname(&host);
	if (proc_read(-1, "/etc/machine-id", machine, sizeof(machine)) > 0)
		machine[strcspn(machine, "\n")] = '\0';
	n = snprintf(text, sizeof(text), "%s %s %s", host.nodename, machine,
		     a->settings.home ? a->settings.home : "");
	return hash_bytes(&key, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

/* Returns false if no name beside the socket can be had. */
static bool note_path(const struct agent *a, char out[TARGET_PATH_MAX])
{
	const char *home = a->settings.home;

	return home && *home == '/' &&
	       (size_t)snprintf(out, TARGET_PATH_MAX, "%s.collector", home) < TARGET_PATH_MAX;
}

/* A note that can't be written is no fault: the next agent then begins with its first choice. */
void agent_note_collector(struct agent *a)
{
	char path[TARGET_PATH_MAX], at[DIAL_NAME];
	int fd;

	if (!dialer_at(&a->dialer, at) || !strcmp(at, a->noted) || !note_path(a, path))
		return;
	memcpy(a->noted, at, sizeof(a->noted));
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	if (write(fd, at, strlen(at)) < 0)
		log_debug("can't write %s: %s", path, strerror(errno));
	close(fd);
}

void agent_forget_note(struct agent *a)
{
	char path[TARGET_PATH_MAX];

	if (*a->noted && note_path(a, path))
		unlink(path);
	*a->noted = '\0';
}

/* Begins with the collector that an agent had which was killed here. */
static void read_note(struct agent *a)
{
	char path[TARGET_PATH_MAX], at[DIAL_NAME];

	if (note_path(a, path) && proc_read(-1, path, at, sizeof(at)) > 0) {
		dialer_prefer(&a->dialer, at);
		memcpy(a->noted, at, sizeof(a->noted));
	}
}

void agent_share_links(struct agent *a)
{
	const struct agent_settings *s = &a->settings;

	a->to_links = agent_has_links(s);
	a->pending_peers.links = a->budget.links - (s->collector ? 1 : 0);
}

int agent_open_links(struct agent *a, struct err_text *err)
{
	const char *collector = a->settings.collector ? a->settings.collector : "";
	int r = endpoint_collectors(a->settings.collector, err);

	a->host = (struct link_host){
		.loop = &a->loop,
		.stream = a->stream,
		.streams = a->budget.slots,
		.orphans = &a->orphans,
		.packer = &a->link_packer,
		.decoder = frame_decoder_new(),
		.agent_id = a->id,
		.window_bytes = a->budget.spool,
		.files = &a->files,
		.links = a->link,
		.link_count = a->budget.links,
		.orders = a->settings.orders,
		.ordered = ordered,
		.context = a,
	};
	agent_serve_collectors(a);
	if (!a->host.decoder || symbol_files_init(&a->files, &a->arena, &a->loop, a->stream,
						  a->budget.slots, link_pump) < 0)
		return -ENOMEM;
	a->files.policy = a->settings.symbols;
	if (!r)
		r = pending_peers_init(&a->pending_peers, &a->arena, &a->loop, a->secure, a->link,
				       a->budget.links);
	a->pending_peers.paired = a->settings.secure.paired;
	if (!r && (a->settings.announce || a->settings.listen || a->settings.listen_fd))
		r = open_listener(a, err);
	if (r < 0)
		return r;
	agent_share_links(a);
	r = dialer_open(&a->dialer, &a->loop, &a->pending_peers, &a->link[a->budget.links - 1],
			a->budget.socket_buffer, collector, DISCOVERY_UDP_PORT);
	a->dialer.agent = agent_identity(a);
	read_note(a);
	return r;
}

void agent_turn_links(struct agent *a)
{
	const struct agent_settings *s = &a->settings;
	const char *collector = s->collector ? s->collector : "";

	if (endpoint_collectors(s->collector, NULL) < 0)
		return;
	if (*collector && !a->secure && s->pairs && (s->pairs->begun || s->pairs->count)) {
		log_error("this agent is paired, and was started without a network: start it anew "
			  "to have it dial %s",
			  s->collector);
		return;
	}
	for (uint32_t i = 0; *collector && i < a->budget.links; i++)
		link_close(&a->link[i]); /* from now on only the dialled collectors are served */
	dialer_turn(&a->dialer, collector, DISCOVERY_UDP_PORT);
}
