/*
 * Determines the settings of one program: the agent's settings, changed by the program's
 * environment. Reports settings that are not honoured. The ring has a copy of the settings for an
 * agent that takes the ring up.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/serve/agent.h"
#include "base/log.h"
#include "base/words.h"
#include "base/ban.h"

static bool is_own_user(const struct handshake_client *client)
{
	struct ucred peer;
	socklen_t length = sizeof(peer);

	return getsockopt(client->fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
	       peer.uid == geteuid();
}

static int keep_output(struct session *s)
{
	const char *output = s->settings.output;

	if (!s->settings.own_output)
		return 0;
	if (strlen(output) >= sizeof(s->output))
		return -ENAMETOOLONG;
	snprintf(s->output, sizeof(s->output), "%s", output);
	s->settings.output = s->output;
	return 0;
}

int session_settle(struct agent *a, struct session *s, const struct handshake_client *client,
		   struct err_text *say)
{
	int r = 0;

	s->settings = a->settings.each;
	if (a->settings.settle)
		r = a->settings.settle(
			a->settings.settle_context, client->settings, client->settings_length,
			is_own_user(client) && target_sees_files(client->pid), &s->settings, say);
	if (!r && keep_output(s) < 0)
		r = err_set(
			say, -EINVAL,
			"HEAPCAST_OUTPUT has more than %u letters: this program is not recorded",
			RING_OUTPUT_MAX - 1);
	return r;
}

void session_tag(struct session *s)
{
	struct tags tags = s->settings.own_tags;

	if (tags_add_missing(&tags, &s->settings.tags))
		log_warn("pid %d has tags of its own: there is no room for all of --tag beside "
			 "them",
			 (int)s->stream.target.pid);
	stream_tag(&s->stream, &tags);
}

void session_settle_stream(struct session *s)
{
	stream_settle(&s->stream, &s->settings.observe, s->settings.cull_ns);
	session_tag(s);
}

/* Returns true if the process was not told before, in this image or an earlier one, and notes that
 * it is told now. Returns false if the process is gone. */
static bool session_settle_tell(struct agent *a, pid_t pid)
{
	uint64_t start_ticks;
	pid_t parent;

	if (target_identity(pid, &parent, &start_ticks) < 0)
		return false;
	for (uint32_t i = 0; i < AGENT_TOLD; i++)
		if (a->told[i].pid == pid && a->told[i].start_ticks == start_ticks)
			return false;
	a->told[a->told_next++ % AGENT_TOLD] = (struct agent_told){pid, start_ticks};
	return true;
}

void session_say(struct agent *a, struct handshake_client *client, struct err_text *say)
{
	char text[sizeof(say->text)];

	if (!*say->text)
		return;
	/* The text may quote what the program sent. */
	words_clean(text, sizeof(text), say->text, strlen(say->text));
	log_warn("pid %d: %s", (int)client->pid, text);
	if (!(client->flags & RING_HELLO_FORKED) && session_settle_tell(a, client->pid))
		handshake_say(client, text);
}

void session_note(const struct session *s)
{
	struct ring_header *h = session_ring(s);
	const struct session_settings *set = &s->settings;

	if (!h)
		return;
	h->home.follow = set->follow;
	h->home.allocator = set->observe.allocator;
	h->home.output_owner = (uint32_t)set->output_owner;
	h->home.figures_ns = set->observe.figures_ns;
	h->home.maps_ns = set->observe.maps_ns;
	h->home.cull_ns = set->cull_ns;
	if (set->own_output)
		snprintf(h->home.output, sizeof(h->home.output), "%s", set->output);
}

/* Reads the settings back from the ring. The program can write to the ring, so it can set no more
 * here than its environment could. */
void session_recall(struct agent *a, struct session *s)
{
	const struct ring_home copy = session_ring(s)->home, *home = &copy;
	struct session_settings *set = &s->settings;
	char tags[TAGS_BYTES];

	*set = a->settings.each;
	if (target_variable(s->stream.target.pid, "HEAPCAST_TAG", tags, sizeof(tags)))
		tags_add(&set->own_tags, tags, NULL);
	set->follow = home->follow != 0;
	set->observe.allocator = set->observe.allocator && home->allocator;
	if (set->observe.figures_ns && home->figures_ns)
		set->observe.figures_ns = home->figures_ns;
	if (set->observe.maps_ns)
		set->observe.maps_ns = home->maps_ns;
	if (set->cull_ns)
		set->cull_ns = home->cull_ns;
	if (!home->output[0] || s->stream.target.uid != geteuid() ||
	    !target_sees_files(s->stream.target.pid))
		return;
	snprintf(s->output, sizeof(s->output), "%.*s", RING_OUTPUT_MAX - 1, home->output);
	set->output = s->output;
	set->own_output = true;
	set->output_owner = (uid_t)home->output_owner;
}
