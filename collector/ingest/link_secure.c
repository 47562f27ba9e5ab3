/*
 * TLS on links, and the treatment of strangers. Input is decrypted before it is examined, output is
 * encrypted before it is written, and nothing of ours is sent before the handshake is done.
 *
 *   socket -> ingest->raw -> [secure_feed, secure_shake, secure_read] -> link->in -> frames
 */
#include <errno.h>
#include <string.h>

#include "collector/ingest/state.h"
#include "base/ban.h"

#define PLAIN_READ (16u << 10)

/* ---- output ---- */

/* Sends pending TLS output. */
static void link_secure_flush(struct link *link)
{
	size_t length;
	const uint8_t *data = secure_output(link->session, &length);

	if (!length)
		return;
	link_write_raw(link, data, length);
	secure_sent(link->session, length);
}

int link_write(struct link *link, const void *data, size_t length)
{
	size_t at = 0;

	if (!link->session)
		return link_write_raw(link, data, length);
	while (at < length) {
		ssize_t n = secure_write(link->session, (const uint8_t *)data + at, length - at);

		if (n <= 0)
			return n ? (int)n : -EPROTO;
		link_secure_flush(link);
		at += (size_t)n;
	}
	return 0;
}

/* ---- input ---- */

/*
 * Switches to the next key, which is tried at once. Returns false after all keys were tried, so
 * that the failure is reported.
 */
static bool try_next_key(struct link *link)
{
	struct peer *peer = link->peer;

	if (!peer || peer->keyed || secure_keys(link->ingest->secure) < 2)
		return false;
	peer->key++;
	return peer->key % secure_keys(link->ingest->secure) != 0;
}

bool link_turn_kind(struct link *link, bool plain)
{
	struct peer *peer = link->peer;
	bool at_once;

	if (!peer || !peer->fixed || link->ingest->strict || !link->ingest->secure)
		return false;
	at_once = !peer->turned;
	peer->plain = plain;
	peer->turned = true;
	return at_once;
}

/*
 * Continues the handshake. Returns 0, whether it is done or not, or a negative errno with a
 * sentence.
 */
static int link_secure_shake(struct link *link, struct err_text *err)
{
	int r;

	do {
		r = secure_shake(link->session, err);
		link_secure_flush(link);
	} while (r == 1 && secure_blocked(link->session));
	if (r < 0) {
		link->try_next = r == -EACCES ? try_next_key(link)
					      : r == -EPROTO && link_turn_kind(link, true);
		return r;
	}
	if (r == 1)
		return link->came > SECURE_SHAKE_BYTES
			       ? err_set(err, -EMSGSIZE, "its handshake is too long")
			       : 0;
	link->secured = true;
	order_hello(link);
	return 0;
}

static int link_secure_begin(struct link *link, const void *data, size_t length,
			     struct err_text *err)
{
	switch (secure_first(data, length)) {
	case SECURE_FIRST_HANDSHAKE:
	case SECURE_FIRST_UNKNOWN:
		link->session = secure_session_new(link->ingest->secure, true, 0);
		return link->session ? 0 : -ENOMEM;
	default:
		link_write_raw(link, secure_refusal, sizeof(secure_refusal));
		return err_set(
			err, -EPROTO,
			link->ingest->paired
				? "it speaks no TLS: 'agent pair CODE' there makes a key, with "
				  "the code of 'collector pair'"
				: "it speaks no TLS: give --key there, too (or a certificate)");
	}
}

static int decrypt(struct link *link, struct err_text *err)
{
	ssize_t n;

	do {
		uint8_t *room = buf_reserve(&link->in, PLAIN_READ);

		if (!room)
			return -EMSGSIZE;
		n = secure_read(link->session, room, PLAIN_READ, err);
		link->in.length += n > 0 ? (size_t)n : 0;
	} while (n > 0);
	link_secure_flush(link);
	return n == -ENODATA ? err_set(err, -ENODATA, "it closed the connection") : (int)n;
}

int link_secure_input(struct link *link, const void *data, size_t length, struct err_text *err)
{
	int r = link->session ? 0 : link_secure_begin(link, data, length, err);

	if (r < 0)
		return r;
	link->came += length;
	secure_feed(link->session, data, length);
	if (!link->secured)
		r = link_secure_shake(link, err);
	return r < 0 || !link->secured || link->state == LINK_CLOSING ? r : decrypt(link, err);
}

int link_secure_start(struct link *link, struct err_text *err)
{
	const struct peer *peer = link->peer;
	size_t key = peer->keyed ? secure_find(link->ingest->secure, peer->key_id) : peer->key;

	if (!secure_keys(link->ingest->secure))
		return err_set(err, -EACCES, "there is no key yet: 'collector pair' makes one");
	link->session = secure_session_new(link->ingest->secure, false, key);
	if (!link->session)
		return -ENOMEM;
	return link_secure_shake(link, err);
}

void links_drop_unknown(struct ingest *ingest)
{
	for (struct link *l = ingest->links, *next; l; l = next) {
		next = l->next;
		if (l->secured && l->state != LINK_CLOSING && !secure_known(l->session))
			link_close(l, "its pair was revoked");
	}
}

/* ---- strangers ---- */

bool link_is_stranger(const struct link *link)
{
	return link->state == LINK_HELLO && !link->peer;
}

/*
 * Returns the link that has to close for a newcomer from `from`, of the links that `has` selects;
 * NULL: none.
 */
static struct link *gives_way(const struct ingest *ingest, bool (*has)(const struct link *link),
			      const struct stranger_address *from)
{
	struct stranger who[HALF_OPEN_MAX];
	struct link *link[HALF_OPEN_MAX];
	size_t count = 0;
	int leaver;

	for (struct link *l = ingest->links; l && count < HALF_OPEN_MAX; l = l->next) {
		if (!has(l))
			continue;
		who[count] = l->who;
		link[count++] = l;
	}
	leaver = strangers_gives_way(who, count, HALF_OPEN_MAX, HALF_OPEN_EACH, from);
	return leaver >= 0 ? link[leaver] : NULL;
}

static bool is_dialled(const struct link *link)
{
	return link->state < LINK_OPEN && link->peer && !link->peer->fixed;
}

/* Returns the dialled link that has waited longest for a peer that never answered a probe. */
static struct link *oldest_unknown(const struct ingest *ingest)
{
	struct link *oldest = NULL;

	for (struct link *l = ingest->links; l; l = l->next) /* newer links come first */
		if (is_dialled(l) && !l->peer->answers)
			oldest = l;
	return oldest;
}

bool links_make_room_to_dial(struct ingest *ingest, const struct peer *peer,
			     const struct stranger_address *to)
{
	struct link *leaver;
	unsigned all = 0, own = 0;

	for (const struct link *l = ingest->links; l; l = l->next) {
		all += is_dialled(l);
		own += is_dialled(l) && !memcmp(&l->who.from, to, sizeof(*to));
	}
	if (own >= HALF_OPEN_EACH)
		return false;
	if (all < HALF_OPEN_MAX)
		return true;
	if (!peer->answers)
		return false;
	leaver = oldest_unknown(ingest);
	if (!leaver)
		leaver = gives_way(ingest, is_dialled, to);
	if (leaver)
		link_close(leaver, "it has not greeted, and others want its place");
	return true;
}

void links_make_room(struct ingest *ingest, const struct stranger_address *from)
{
	struct link *leaver = gives_way(ingest, link_is_stranger, from);

	if (leaver)
		link_close(leaver, "it has not said who it is, and others want its place");
}
