/* What a recorded program is known by. See labels.h. */
#include "collector/recording/labels.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/words.h"
#include "base/ban.h"

#define TAGS_MOST  64
#define LABEL_MOST 4096 /* bytes of a text */

void labels_done(struct labels *l)
{
	free(l->board);
	free(l->cgroup);
	free(l->build);
	free(l->tags);
	*l = (struct labels){0};
}

static bool complete(const struct labels *l)
{
	return l->board && l->cgroup && l->build && l->tags;
}

static char *copied(const char *text)
{
	return strdup(text ? text : "");
}

int labels_copy(const struct labels *from, struct labels *ret)
{
	*ret = (struct labels){copied(from->board), copied(from->cgroup), copied(from->build),
			       copied(from->tags)};
	if (complete(ret))
		return 0;
	labels_done(ret);
	return -ENOMEM;
}

static bool same_text(const char *a, const char *b)
{
	return !strcmp(a ? a : "", b ? b : "");
}

bool labels_same(const struct labels *a, const struct labels *b)
{
	return same_text(a->board, b->board) && same_text(a->cgroup, b->cgroup) &&
	       same_text(a->build, b->build) && same_text(a->tags, b->tags);
}

/* ---- tags ---- */

/* Returns the next part of a list, without its comma, or NULL behind the last. */
static const char *next_tag(const char **at, size_t *ret_length)
{
	const char *tag = *at;

	*ret_length = strcspn(tag, ",");
	*at = tag + *ret_length + (tag[*ret_length] == ',');
	return *tag ? tag : NULL;
}

const char *labels_tag(const char *tags, const char *key, size_t length, size_t *ret_length)
{
	const char *at = tags ? tags : "", *tag;
	size_t n;

	while ((tag = next_tag(&at, &n)))
		if (n > length + 1 && tag[length] == '=' && !memcmp(tag, key, length)) {
			*ret_length = n - length - 1;
			return tag + length + 1;
		}
	return NULL;
}

/* Like labels_tag, but finds a key with an empty value, too. */
static bool has_key(const char *tags, const char *key, size_t length)
{
	const char *at = tags, *tag;
	size_t n;

	while ((tag = next_tag(&at, &n)))
		if (n > length && tag[length] == '=' && !memcmp(tag, key, length))
			return true;
	return false;
}

char *labels_add_tags(const char *tags, const char *more)
{
	cleanup(buf_done) struct buf out = {0};
	const char *lists[] = {tags ? tags : "", more}, *tag;
	size_t n, key, unused;

	for (size_t i = 0; i < 2; i++)
		for (const char *at = lists[i]; (tag = next_tag(&at, &n));) {
			const char *equals = memchr(tag, '=', n);

			if (!equals || equals == tag || equals + 1 == tag + n)
				continue;
			key = (size_t)(equals - tag);
			if (labels_tag(at, tag, key, &unused) || (!i && has_key(more, tag, key)))
				continue;
			buf_append(&out, ",", out.length ? 1 : 0);
			buf_append(&out, tag, n);
		}
	buf_byte(&out, '\0');
	return buf_error(&out) ? NULL : strdup((const char *)out.data);
}

/* A tag of an agent, which may say anything. */
static void put_tag(struct buf *out, const ProtobufCBinaryData *tag)
{
	cleanup(cleanup_free) char *text = words_copy(tag->data, tag->len, LABEL_MOST);

	if (!text) {
		out->error = -ENOMEM;
		return;
	}
	for (char *comma = text; (comma = strchr(comma, ','));)
		*comma = '?';
	buf_append(out, ",", out->length ? 1 : 0);
	buf_append(out, text, strlen(text));
}

static char *tags_of(const Heapcast__Process *p)
{
	cleanup(buf_done) struct buf out = {0};

	for (size_t i = 0; i < p->n_tag && i < TAGS_MOST && out.length < LABEL_MOST; i++)
		put_tag(&out, &p->tag[i]);
	buf_byte(&out, '\0');
	return buf_error(&out) ? NULL : labels_add_tags((const char *)out.data, "");
}

/* ---- others ---- */

int labels_of(const Heapcast__Process *p, struct labels *ret)
{
	*ret = (struct labels){
		.board = words_copy(p->board, strlen(p->board), LABEL_MOST),
		.cgroup = words_copy(p->cgroup.data, p->cgroup.len, LABEL_MOST),
		.build = strdup(""),
		.tags = tags_of(p),
	};
	if (complete(ret))
		return 0;
	labels_done(ret);
	return -ENOMEM;
}

static char *hexadecimal(const ProtobufCBinaryData *id)
{
	char *text = malloc(2 * id->len + 1);

	for (size_t i = 0; text && i < id->len; i++)
		snprintf(text + 2 * i, 3, "%02x", id->data[i]);
	if (text)
		text[2 * id->len] = '\0';
	return text;
}

int labels_take_build(struct labels *l, const Heapcast__Batch *batch, const char *executable)
{
	for (size_t i = 0; i < batch->n_module; i++) {
		const Heapcast__Module *m = batch->module[i];
		char *build;

		if (!m->build_id.len || m->build_id.len > 32 || !executable ||
		    m->path.len != strlen(executable) ||
		    memcmp(m->path.data, executable, m->path.len) != 0)
			continue;
		build = hexadecimal(&m->build_id);
		if (!build)
			return -ENOMEM;
		free(l->build);
		l->build = build;
	}
	return 0;
}

const char *labels_service(const char *cgroup, size_t *ret_length)
{
	static const char end[] = ".service";
	const char *found = NULL;

	for (const char *at = cgroup ? cgroup : ""; *at;) {
		size_t n = strcspn(at, "/");

		if (n >= sizeof(end) && !memcmp(at + n - (sizeof(end) - 1), end, sizeof(end) - 1)) {
			found = at;
			*ret_length = n - (sizeof(end) - 1);
		}
		at += n + (at[n] == '/');
	}
	return found;
}
