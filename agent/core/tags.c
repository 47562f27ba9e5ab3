/* Tags of programs. See tags.h. */
#include "agent/core/tags.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "base/ban.h"

const char *tags_next(const struct tags *t, const char *tag)
{
	const char *next = tag ? tag + strlen(tag) + 1 : t->text;

	return next < t->text + t->length ? next : NULL;
}

static bool is_key(const char *text, size_t length)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";

	if (!length || length > TAG_KEY_MAX)
		return false;
	for (size_t i = 0; i < length; i++)
		if (!memchr(allowed, text[i], sizeof(allowed) - 1))
			return false;
	return true;
}

static bool is_value(const char *text, size_t length)
{
	uint32_t code;
	size_t n;

	if (length > TAG_VALUE_MAX)
		return false;
	for (; length; text += n, length -= n) {
		n = utf8_next(text, length, &code);
		if (!n || code < ' ' || (code >= 0x7f && code < 0xa0))
			return false;
	}
	return true;
}

/* Removes the tag with the key that `tag` begins with. */
static void remove_key(struct tags *t, const char *tag, size_t key)
{
	const char *old = NULL;

	while ((old = tags_next(t, old)))
		if (!strncmp(old, tag, key) && old[key] == '=')
			break;
	if (!old)
		return;
	t->length -= strlen(old) + 1;
	memmove(t->text + (old - t->text), old + strlen(old) + 1,
		t->length - (size_t)(old - t->text));
}

static unsigned tags_count(const struct tags *t)
{
	unsigned count = 0;

	for (const char *tag = NULL; (tag = tags_next(t, tag));)
		count++;
	return count;
}

static int add_one(struct tags *t, const char *tag, size_t length, struct err_text *err)
{
	const char *equals = memchr(tag, '=', length);
	size_t key = equals ? (size_t)(equals - tag) : 0;

	if (!is_key(tag, key) || !is_value(tag + key + 1, length - key - 1))
		return err_set(err, -EINVAL,
			       "a tag is KEY=VALUE, such as site=berlin; KEY has letters, digits, "
			       "'_', '-' and '.' (%d at most), VALUE up to %d bytes: not '%.*s'",
			       TAG_KEY_MAX, TAG_VALUE_MAX, (int)(length < 80 ? length : 80), tag);
	remove_key(t, tag, key);
	if (length == key + 1)
		return 0;
	if (tags_count(t) == TAGS_MAX || t->length + length + 1 > sizeof(t->text))
		return err_set(err, -ENOSPC, "a program has at most %d tags of %d bytes together",
			       TAGS_MAX, TAGS_BYTES);
	memcpy(t->text + t->length, tag, length);
	t->length += length;
	t->text[t->length++] = '\0';
	return 0;
}

int tags_add(struct tags *tags, const char *list, struct err_text *err)
{
	struct tags t = *tags;
	int r = 0;

	while (!r && *list) {
		const char *next;
		size_t length;

		list += strspn(list, " \t");
		length = strcspn(list, ",");
		next = list + length + (list[length] == ',');
		while (length && strchr(" \t", list[length - 1]))
			length--;
		r = length ? add_one(&t, list, length, err) : 0;
		list = next;
	}
	if (!r)
		*tags = t;
	return r;
}

static bool has_key(const struct tags *t, const char *key, size_t length)
{
	for (const char *tag = NULL; (tag = tags_next(t, tag));)
		if (!strncmp(tag, key, length) && tag[length] == '=')
			return true;
	return false;
}

unsigned tags_add_missing(struct tags *tags, const struct tags *more)
{
	unsigned left = 0;

	for (const char *tag = NULL; (tag = tags_next(more, tag));)
		if (!has_key(tags, tag, strcspn(tag, "=")))
			left += add_one(tags, tag, strlen(tag), NULL) < 0;
	return left;
}

void tags_text(const struct tags *t, char *out, size_t size)
{
	size_t length = 0;

	*out = '\0';
	for (const char *tag = NULL; (tag = tags_next(t, tag)) && length < size;)
		length += (size_t)snprintf(out + length, size - length, "%s%s", length ? "," : "",
					   tag);
}
