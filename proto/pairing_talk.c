/* The conversation of pairing. pairing.h and pairing_talk.h describe it. */
#include "proto/pairing_talk.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/words.h"
#include "base/ban.h"

#define LABEL "EXPORTER-heapcast-pairing-key"

/* ---- sending ---- */

static void pairing_talk_say(struct pairing_talk *t, Heapcast__PairingStep step, const char *text)
{
	Heapcast__Pairing m = HEAPCAST__PAIRING__INIT;
	size_t length;
	uint8_t *at = t->out + t->out_length;

	m.protocol = PAIRING_PROTOCOL;
	m.step = step;
	m.agent = t->share->options->agent;
	if (step == HEAPCAST__PAIRING_STEP__PAIRING_HELLO)
		m.host = t->share->host;
	else if (step == HEAPCAST__PAIRING_STEP__PAIRING_REFUSED)
		m.text = (char *)(uintptr_t)text;
	else
		m.key_id = (ProtobufCBinaryData){SECRET_ID_SIZE, t->secret.id};
	length = heapcast__pairing__get_packed_size(&m);
	if (length > PAIRING_MESSAGE_MAX ||
	    t->out_length + PAIRING_LENGTH + length > sizeof(t->out))
		return;
	at[0] = (uint8_t)length;
	at[1] = (uint8_t)(length >> 8);
	heapcast__pairing__pack(&m, at + PAIRING_LENGTH);
	t->out_length += PAIRING_LENGTH + length;
}

/* Ends the conversation and tells the peer the reason. */
static int pairing_talk_refuse(struct pairing_talk *t, int error, struct err_text *err)
{
	pairing_talk_say(t, HEAPCAST__PAIRING_STEP__PAIRING_REFUSED, err->text);
	t->state = PAIRING_OVER;
	return error;
}

/* ---- keys ---- */

static int derive(struct pairing_talk *t, struct err_text *err)
{
	int r = secure_export(t->session, LABEL, t->key, sizeof(t->key));

	if (!r)
		r = pair_secret(t->key, &t->secret);
	return r < 0 ? err_set(err, r, "OpenSSL can't derive a key") : 0;
}

/* Writes the key to a temporary file, which nothing reads yet. */
static int pairing_talk_prepare(struct pairing_talk *t, struct err_text *err)
{
	const struct pairing_options *o = t->share->options;
	char peer[PAIRING_HOST_MAX + sizeof(t->address) + 4];

	snprintf(peer, sizeof(peer), "%s (%s)", t->host, t->address);
	return pair_draft_open(&t->draft, o->folder, o->agent ? PAIRS_AGENT : PAIRS_ALL, t->key,
			       peer, err);
}

/*
 * An agent with an installation accepts no collector without a key. The installation is therefore
 * created only once there is a key.
 */
static int pairing_talk_keep(struct pairing_talk *t, struct err_text *err)
{
	const struct pairing_options *o = t->share->options;
	struct secret installation = {0};
	int r = pair_draft_keep(&t->draft, o->name ? o->name : t->host, &t->name, err);

	if (!r && o->agent) {
		r = pairs_installation(o->folder, true, &installation, err);
		if (r < 0)
			pair_remove(o->folder, t->name.text, NULL);
	}
	secret_clear(&installation);
	if (r < 0) {
		t->name.text[0] = '\0';
		return r;
	}
	t->share->kept++;
	t->share->uses--;
	return 0;
}

/* ---- receiving ---- */

static int take_hello(struct pairing_talk *t, const Heapcast__Pairing *m, struct err_text *err)
{
	const bool agent = t->share->options->agent;
	int r;

	if (m->protocol != PAIRING_PROTOCOL)
		return pairing_talk_refuse(
			t,
			err_set(err, -EPROTO,
				"the two are of different versions (of pairing: %u and %u): "
				"update the older one",
				m->protocol, PAIRING_PROTOCOL),
			err);
	if (!!m->agent == agent)
		return pairing_talk_refuse(t,
					   err_set(err, -EPROTO, "two %s can't be paired",
						   agent ? "agents" : "collectors"),
					   err);
	words_clean(t->host, sizeof(t->host), m->host, strlen(m->host));
	t->state = PAIRING_AGREES;
	if (!agent)
		return 0;
	r = pairing_talk_prepare(t, err);
	if (r < 0)
		return pairing_talk_refuse(t, r, err);
	pairing_talk_say(t, HEAPCAST__PAIRING_STEP__PAIRING_READY, NULL);
	return 0;
}

/* Collector: the agent has written the key, so the collector keeps it. */
static int take_ready(struct pairing_talk *t, struct err_text *err)
{
	int r = t->share->uses ? 0 : err_set(err, -EALREADY, "this code was used already");

	if (!r)
		r = pairing_talk_prepare(t, err);
	if (!r)
		r = pairing_talk_keep(t, err);
	if (r < 0)
		return pairing_talk_refuse(t, r, err);
	pairing_talk_say(t, HEAPCAST__PAIRING_STEP__PAIRING_KEPT, NULL);
	t->state = PAIRING_ENDS;
	return 0;
}

/* Agent: the collector has kept the key. */
static int take_kept(struct pairing_talk *t, struct err_text *err)
{
	int r = pairing_talk_keep(t, err);

	if (r < 0)
		return pairing_talk_refuse(t, r, err);
	t->confirmed = true;
	pairing_talk_say(t, HEAPCAST__PAIRING_STEP__PAIRING_DONE, NULL);
	t->state = PAIRING_OVER;
	return 0;
}

static int take_refusal(struct pairing_talk *t, const Heapcast__Pairing *m, struct err_text *err)
{
	char text[300];

	words_clean(text, sizeof(text), m->text, strlen(m->text));
	t->state = PAIRING_OVER;
	return err_set(err, -ECONNREFUSED, "the other side says: %s", text);
}

static int take(struct pairing_talk *t, const Heapcast__Pairing *m, struct err_text *err)
{
	const bool agent = t->share->options->agent;

	if (m->step == HEAPCAST__PAIRING_STEP__PAIRING_REFUSED)
		return take_refusal(t, m, err);
	if (t->state == PAIRING_GREETS && m->step == HEAPCAST__PAIRING_STEP__PAIRING_HELLO)
		return take_hello(t, m, err);
	if (m->key_id.len == SECRET_ID_SIZE &&
	    !memcmp(m->key_id.data, t->secret.id, SECRET_ID_SIZE)) {
		if (t->state == PAIRING_AGREES && !agent &&
		    m->step == HEAPCAST__PAIRING_STEP__PAIRING_READY)
			return take_ready(t, err);
		if (t->state == PAIRING_AGREES && agent &&
		    m->step == HEAPCAST__PAIRING_STEP__PAIRING_KEPT)
			return take_kept(t, err);
		if (t->state == PAIRING_ENDS && m->step == HEAPCAST__PAIRING_STEP__PAIRING_DONE) {
			t->confirmed = true;
			t->state = PAIRING_OVER;
			return 0;
		}
	}
	return pairing_talk_refuse(t, err_set(err, -EPROTO, "what it says makes no sense here"),
				   err);
}

int pairing_talk_take(struct pairing_talk *t, struct err_text *err)
{
	size_t used = 0;
	int r = 0;

	while (!r && t->state != PAIRING_OVER && t->in_length - used >= PAIRING_LENGTH) {
		size_t length = t->in[used] | (size_t)t->in[used + 1] << 8;
		Heapcast__Pairing *m;

		if (length > PAIRING_MESSAGE_MAX)
			return pairing_talk_refuse(t, err_set(err, -EMSGSIZE, "it says too much"),
						   err);
		if (t->in_length - used - PAIRING_LENGTH < length)
			break;
		m = heapcast__pairing__unpack(NULL, length, t->in + used + PAIRING_LENGTH);
		r = m ? take(t, m, err)
		      : pairing_talk_refuse(
				t, err_set(err, -EBADMSG, "what it says makes no sense"), err);
		if (m)
			heapcast__pairing__free_unpacked(m, NULL);
		used += PAIRING_LENGTH + length;
	}
	memmove(t->in, t->in + used, t->in_length - used);
	t->in_length -= used;
	return r;
}

/* ---- interface for pairing_places.c ---- */

int pairing_talk_begin(struct pairing_talk *t, struct err_text *err)
{
	int r = derive(t, err);

	if (!r)
		pairing_talk_say(t, HEAPCAST__PAIRING_STEP__PAIRING_HELLO, NULL);
	return r;
}

int pairing_talk_read(struct pairing_talk *t, struct err_text *err)
{
	ssize_t n = 1;
	int r = 0;

	while (!r && n > 0 && t->state != PAIRING_OVER) {
		n = secure_read(t->session, t->in + t->in_length, sizeof(t->in) - t->in_length,
				err);
		t->in_length += n > 0 ? (size_t)n : 0;
		if (n > 0)
			r = pairing_talk_take(t, err);
	}
	if (n == -ENODATA)
		return err_set(err, -ENODATA, "it closed the connection");
	return n < 0 ? (int)n : r;
}

int pairing_talk_write(struct pairing_talk *t)
{
	ssize_t n = 1;

	while (n > 0 && t->out_at < t->out_length) {
		n = secure_write(t->session, t->out + t->out_at, t->out_length - t->out_at);
		t->out_at += n > 0 ? (size_t)n : 0;
	}
	if (t->out_at == t->out_length)
		t->out_at = t->out_length = 0;
	return n < 0 && n != -EAGAIN ? (int)n : 0;
}

void pairing_talk_done(struct pairing_talk *t)
{
	pair_draft_close(&t->draft);
	secret_clear(&t->secret);
	explicit_bzero(t->key, sizeof(t->key));
}
