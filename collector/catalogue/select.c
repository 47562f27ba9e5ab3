/* Chooses streams. See select.h. */
#include "collector/catalogue/select.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "collector/catalogue/store.h"
#include "collector/recording/stream_id.h"
#include "base/ban.h"

#define VALUE_MAX 4352
#define BLANKS	  " \t\n"

enum field {
	FIELD_ID,
	FIELD_NAME,
	FIELD_EXECUTABLE,
	FIELD_HOST,
	FIELD_ARCHITECTURE,
	FIELD_BOARD,
	FIELD_CGROUP,
	FIELD_SERVICE,
	FIELD_BUILD,
	FIELD_PID,
	FIELD_STATE,
	FIELD_VERSION,
	FIELD_TAG,
};

static const char *const fields[] = {
	[FIELD_ID] = "id",
	[FIELD_NAME] = "name",
	[FIELD_EXECUTABLE] = "executable",
	[FIELD_HOST] = "host",
	[FIELD_ARCHITECTURE] = "architecture",
	[FIELD_BOARD] = "board",
	[FIELD_CGROUP] = "cgroup",
	[FIELD_SERVICE] = "service",
	[FIELD_BUILD] = "build",
	[FIELD_PID] = "pid",
	[FIELD_STATE] = "state",
	[FIELD_VERSION] = "version",
};
#define FIELDS (sizeof(fields) / sizeof(fields[0]))

static const char *const states[] = {
	[STREAM_LIVE] = "live", [STREAM_ENDED] = "ended", [STREAM_INTERRUPTED] = "interrupted"};

struct term {
	enum field field;
	char *key; /* of a tag; else NULL */
	bool differs;
	bool exists; /* any value will do */
	char **patterns;
	uint32_t count, capacity;
};

struct selector {
	struct term *terms;
	uint32_t count, capacity;
};

void selector_free(struct selector *s)
{
	for (uint32_t i = 0; s && i < s->count; i++) {
		for (uint32_t j = 0; j < s->terms[i].count; j++)
			free(s->terms[i].patterns[j]);
		free(s->terms[i].patterns);
		free(s->terms[i].key);
	}
	if (s)
		free(s->terms);
	free(s);
}

/* ---- matching ---- */

static size_t copy_part(char out[VALUE_MAX], const char *text, size_t length)
{
	if (length >= VALUE_MAX)
		length = VALUE_MAX - 1;
	memcpy(out, text, length);
	out[length] = '\0';
	return length;
}

/* Returns the value, "" if there is none. It may be in `room`. */
static const char *value_of(const struct term *t, const struct stream_summary *s,
			    char room[VALUE_MAX])
{
	const char *part = NULL, *key = t->field == FIELD_VERSION ? "version" : t->key;
	size_t length = 0;

	switch (t->field) {
	case FIELD_ID:
		return stream_id_format(room, &s->id);
	case FIELD_NAME:
		return s->name;
	case FIELD_EXECUTABLE:
		return s->executable;
	case FIELD_HOST:
		return s->host;
	case FIELD_ARCHITECTURE:
		return s->architecture;
	case FIELD_BOARD:
		return s->labels.board;
	case FIELD_CGROUP:
		return s->labels.cgroup;
	case FIELD_BUILD:
		return s->labels.build;
	case FIELD_PID:
		snprintf(room, VALUE_MAX, "%u", s->pid);
		return room;
	case FIELD_STATE:
		return s->is_snapshot ? "snapshot" : states[s->state];
	case FIELD_SERVICE:
		part = labels_service(s->labels.cgroup, &length);
		break;
	case FIELD_VERSION:
	case FIELD_TAG:
		part = labels_tag(s->labels.tags, key, strlen(key), &length);
		break;
	}
	copy_part(room, part ? part : "", length);
	return room;
}

static bool pattern_fits(const struct term *t, const char *pattern, const char *value)
{
	bool prefix = t->field == FIELD_ID || t->field == FIELD_BUILD;

	if (!*value) /* there is none: only an empty pattern fits that */
		return !*pattern;
	return prefix && *pattern && !strpbrk(pattern, "*?")
		       ? !strncasecmp(pattern, value, strlen(pattern))
		       : fnmatch(pattern, value, FNM_NOESCAPE) == 0;
}

static bool term_holds(const struct term *t, const struct stream_summary *s)
{
	char room[VALUE_MAX];
	const char *value = value_of(t, s, room);
	bool fits = false;

	if (t->exists)
		return (*value != '\0') != t->differs;
	for (uint32_t i = 0; i < t->count && !fits; i++)
		fits = pattern_fits(t, t->patterns[i], value ? value : "");
	return fits != t->differs;
}

bool selector_matches(const struct selector *s, const struct stream_summary *stream)
{
	for (uint32_t i = 0; s && i < s->count; i++)
		if (!term_holds(&s->terms[i], stream))
			return false;
	return true;
}

/* ---- parsing ---- */

static int find_field(const char *name, size_t length, struct term *t)
{
	static const char tag[] = "tag:";

	if (length > sizeof(tag) - 1 && !strncmp(name, tag, sizeof(tag) - 1)) {
		t->field = FIELD_TAG;
		t->key = strndup(name + sizeof(tag) - 1, length - (sizeof(tag) - 1));
		return t->key ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < FIELDS; i++)
		if (strlen(fields[i]) == length && !strncmp(fields[i], name, length)) {
			t->field = (enum field)i;
			return 0;
		}
	return -EINVAL;
}

static int unknown_field(const char *name, size_t length, struct err_text *err)
{
	return err_set(err, -EINVAL,
		       "streams can't be selected by '%.*s', but by id, name, executable, host, "
		       "architecture, board, cgroup, service, build, pid, state, version, and "
		       "by tag:KEY for a tag, as in tag:site=berlin",
		       (int)(length < 64 ? length : 64), name);
}

static int add_pattern(struct term *t, const char *text, size_t length)
{
	char *pattern = strndup(text, length);

	if (!pattern || array_reserve(&t->patterns, &t->capacity, (uint64_t)t->count + 1,
				      sizeof(*t->patterns)) < 0) {
		free(pattern);
		return -ENOMEM;
	}
	t->patterns[t->count++] = pattern;
	return 0;
}

/* Takes the patterns of a term, and moves `at` behind them. */
static int take_patterns(const char **at, struct term *t, struct err_text *err)
{
	const char *p = *at;
	char pattern[VALUE_MAX];
	size_t n = 0;
	bool quoted = false;
	int r = 0;

	for (; !r && *p && (quoted || !strchr(BLANKS, *p)); p++) {
		if (*p == '"') {
			quoted = !quoted;
		} else if (*p == ',' && !quoted) {
			r = add_pattern(t, pattern, n);
			n = 0;
		} else if (n == sizeof(pattern) - 1) {
			return err_set(err, -EINVAL, "the selector has a pattern that is too long");
		} else {
			pattern[n++] = *p;
		}
	}
	if (quoted)
		return err_set(err, -EINVAL, "the selector has a quote without its end");
	*at = p;
	return r ? r : add_pattern(t, pattern, n);
}

static int take_term(const char **at, struct term *t, struct err_text *err)
{
	const char *name = *at;
	size_t length;
	int r;

	t->differs = *name == '!';
	name += t->differs;
	length = strcspn(name, "=!" BLANKS);
	r = find_field(name, length, t);
	if (r < 0)
		return r == -EINVAL ? unknown_field(name, length, err) : r;
	*at = name + length;
	t->exists = !**at || strchr(BLANKS, **at);
	if (t->exists)
		return 0;
	if (**at == '!') {
		t->differs = !t->differs;
		++*at;
	}
	if (**at != '=')
		return err_set(err, -EINVAL,
			       "the selector has NAME=PATTERN or NAME!=PATTERN, not '%.80s'", name);
	++*at;
	return take_patterns(at, t, err);
}

int selector_parse(const char *text, struct selector **ret, struct err_text *err)
{
	struct selector *s = calloc(1, sizeof(*s));
	int r = s ? 0 : -ENOMEM;

	if (!text[strspn(text, BLANKS)])
		r = err_set(err, -EINVAL,
			    "the selector is empty: it takes NAME=PATTERN, as in tag:site=berlin");
	while (!r && *(text += strspn(text, BLANKS))) {
		if (array_reserve(&s->terms, &s->capacity, (uint64_t)s->count + 1,
				  sizeof(*s->terms)) < 0)
			r = -ENOMEM;
		else
			s->terms[s->count++] = (struct term){0};
		if (!r)
			r = take_term(&text, &s->terms[s->count - 1], err);
	}
	if (r < 0)
		selector_free(s);
	else
		*ret = s;
	return r;
}
