/*
 * Opens the keys of links: a given key or given certificates, which stay, or keys by pairing, which
 * come and go while the agent runs.
 */
#include <errno.h>
#include <string.h>

#include "agent/net/pending_peers.h"
#include "agent/serve/agent.h"
#include "base/log.h"
#include "base/ban.h"

#define LOOK_NS 1000000000

static void agent_keys_take_over(struct agent *a)
{
	const struct secure_options *s = &a->settings.secure;
	const struct pairs *pairs = s->paired ? a->settings.pairs : NULL;

	a->keys = (struct beacon_keys){.secret = pairs ? pairs->secret : s->secrets,
				       .count = pairs ? pairs->count : s->secret_count,
				       .only = s->paired};
}

static void log_pairs(const struct agent *a)
{
	size_t count = a->keys.count;

	if (count)
		log_info("paired with %zu collector%s: this agent talks to nobody else", count,
			 count == 1 ? "" : "s");
	else
		log_warn(
			"no pair is left: this agent talks to no collector until it is paired anew "
			"('collector pair', 'agent pair CODE')");
}

int agent_open_keys(struct agent *a, struct err_text *err)
{
	int r;

	agent_keys_take_over(a);
	if (!secure_wanted(&a->settings.secure))
		return 0;
	r = budget_secure(&a->settings.memory_limit, PENDING_PEERS_SESSIONS, err);
	if (!r)
		r = secure_open(&a->settings.secure, &a->secure, err);
	if (!r && secure_remark(a->secure))
		log_warn("%s", secure_remark(a->secure));
	if (!r && a->settings.secure.paired)
		log_pairs(a);
	return r < 0 && r != -ENOTSUP ? -EINVAL : r; /* the given key or certificates can't be
						      * used */
}

/* Warns that the agent was started before its first pairing. It has reserved no memory for TLS, so
 * its links stay plain. */
static void tell_of_pairing(struct agent *a)
{
	const struct pairs *pairs = a->settings.pairs;

	if (a->pairs_told || !pairs->count || !agent_has_links(&a->settings))
		return;
	a->pairs_told = true;
	log_warn("this agent was started before its first pairing, and still talks "
		 "to everybody in plain: restart it so that it uses its keys");
}

void agent_look_for_keys(struct agent *a)
{
	uint64_t now = clock_monotonic_ns();
	struct err_text text = {{0}};
	int r;

	if (!a->settings.pairs || now - a->pairs_ns < LOOK_NS)
		return;
	a->pairs_ns = now;
	r = pairs_look(a->settings.pairs, &text);
	if (*text.text && (r || strcmp(text.text, a->keys_remark.text)))
		log_warn("%s", text.text);
	a->keys_remark = text;
	if (!a->settings.secure.paired) {
		tell_of_pairing(a);
		return;
	}
	if (!r)
		return;
	agent_keys_take_over(a);
	r = secure_rekey(a->secure, a->keys.secret, a->keys.count, &text);
	if (r < 0) {
		log_error("%s", err_get(&text, r));
		return;
	}
	log_pairs(a);
	for (uint32_t i = 0; i < a->budget.links; i++) {
		struct link *link = &a->link[i];

		if (link_free(link) || !link->io.session || secure_known(link->io.session))
			continue;
		log_info("link to %s: its pair was forgotten", link->peer);
		link_close(link);
	}
}
