/*
 * What the other side says while one pairs (proto/pairing_talk.h), to an agent and to a collector,
 * in pieces: it ends with a sentence, or goes on; nobody keeps a key that was not agreed on, and
 * here nobody can, as there is no folder for it. And codes, as people paste them.
 */
#include <stdlib.h>
#include <string.h>

#include "base/secure/pair_code.h"
#include "proto/pairing_talk.h"
#include "tests/fuzz/fuzz.h"

static void hear(bool agent, const uint8_t *data, size_t size)
{
	const struct pairing_options options = {.agent = agent, .folder = "", .uses = 1};
	struct pairing_share share = {.options = &options, .uses = 1, .host = "fuzzer"};
	struct pairing_talk *t = calloc(1, sizeof(*t));
	struct err_text err = {{0}};
	size_t piece = size % 7 ? 1 + size % 300 : sizeof(t->in);
	int r = 0;

	must(t != NULL);
	t->share = &share;
	t->draft.folder = -1;
	memset(t->secret.id, 'k', sizeof(t->secret.id));
	while (!r && size && t->state != PAIRING_OVER) {
		size_t room = sizeof(t->in) - t->in_length, n = size < piece ? size : piece;

		must(room > 0);
		n = n < room ? n : room;
		memcpy(t->in + t->in_length, data, n);
		t->in_length += n;
		data += n;
		size -= n;
		r = pairing_talk_take(t, &err);
		must(t->in_length <= sizeof(t->in) && t->out_length <= sizeof(t->out));
		t->out_length = 0; /* it has gone */
	}
	must(!r || *err.text);
	must(!share.kept && !*t->name.text && !t->confirmed);
	must(memchr(t->host, '\0', sizeof(t->host)) != NULL);
	fuzz_touch((const uint8_t *)t->host, sizeof(t->host));
	free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err_text err = {{0}};
	struct secret secret;

	hear(true, data, size);
	hear(false, data, size);
	if (pair_code_secret((const char *)data, size, &secret, &err) < 0)
		must(*err.text);
	else
		fuzz_touch(secret.key, secret.key_length);
	return 0;
}
