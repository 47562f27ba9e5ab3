/* Reads rules from files. See rules.h. */
#include "collector/analyze/rules.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"

#include "base/ban.h"

#define RULES_MAX      10000
#define FILE_BYTES_MAX (1u << 20)
#define USES_MAX       8  /* maximum nesting of files */
#define FILES_MAX      64 /* maximum number of files in total */
#define FOLDER	       "share/heapcast/rules"
#define SUFFIX	       ".rules"

enum rule_what { RULE_NOISE, RULE_OUTER, RULE_GROWS, RULE_SUBSYSTEM };
enum rule_form { FORM_WHOLE, FORM_BEGIN, FORM_END, FORM_PART };

struct rule {
	enum rule_what what;
	enum rule_form form;
	uint32_t subsystem;
	size_t length;
	char *text;
	uint64_t pairs; /* of the text: pairs_of */
};

struct rules {
	char *name;
	struct rule *list;
	uint32_t count, capacity;
	char **subsystems;
	uint32_t subsystem_count, subsystem_capacity;
	unsigned files;
};

/* The file that is being read. */
struct source {
	struct rules *rules;
	const char *path;
	unsigned line, depth;
	bool in_subsystem; /* indented lines are patterns */
	struct err_text *err;
};

static int rules_read_file(struct rules *rules, const char *path, unsigned depth,
			   struct err_text *err);

/* ---- locations ---- */

/* Formats "DIR/share/heapcast/rules" for the program DIR/bin/collector. Returns 0 or a negative
 * errno. */
static int shipped_folder(char out[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", out, PATH_MAX - sizeof(FOLDER) - 1);

	if (n < 0)
		return -errno;
	for (int up = 0; up < 2; up++) {
		while (n && out[n - 1] != '/')
			n--;
		n -= n > 0;
	}
	snprintf(out + n, PATH_MAX - (size_t)n, "/%s", FOLDER);
	return 0;
}

static bool is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Finds the file of the rules `name`. `beside` is the file that uses these rules, or NULL. */
static int rules_find(const char *name, const char *beside, char out[PATH_MAX],
		      struct err_text *err)
{
	const char *slash = beside ? strrchr(beside, '/') : NULL;
	char folder[PATH_MAX] = "";
	int n;

	n = snprintf(out, PATH_MAX, "%.*s%s",
		     slash && name[0] != '/' ? (int)(slash - beside) + 1 : 0, beside ? beside : "",
		     name);
	/* A path that the user named may be a pipe. A rules file must not make us wait for one. */
	if (n < PATH_MAX && ((!beside && strchr(name, '/')) || is_file(out)))
		return 0;
	if (shipped_folder(folder) == 0) {
		n = snprintf(out, PATH_MAX, "%s/%s" SUFFIX, folder, name);
		if (n < PATH_MAX && is_file(out))
			return 0;
	}
	return err_set(
		err, -ENOENT,
		"there is neither a file '%.200s' nor rules of that name in %.200s: general, "
		"clickhouse, cxx and python are shipped",
		name, folder);
}

/* ---- lines ---- */

/* Returns a bit for each two neighbours in the text, some of which share a bit. A text that lacks a
 * bit of another one does not contain that one. */
static uint64_t pairs_of(const char *text, size_t length)
{
	uint64_t pairs = 0;

	for (size_t i = 1; i < length; i++)
		pairs |= UINT64_C(1) << ((uint8_t)text[i - 1] * 7 + (uint8_t)text[i]) % 64;
	return pairs;
}

static int wrong(const struct source *s, const char *text)
{
	return err_set(s->err, -EINVAL, "%s, line %u: %s", s->path, s->line, text);
}

static int add_pattern(struct source *s, enum rule_what what, const char *pattern)
{
	struct rules *rules = s->rules;
	size_t length = strlen(pattern);
	bool before = length && pattern[0] == '*', after = length > 1 && pattern[length - 1] == '*';
	struct rule rule = {.what = what,
			    .form = before ? (after ? FORM_PART : FORM_END)
					   : (after ? FORM_BEGIN : FORM_WHOLE),
			    .subsystem = rules->subsystem_count - 1,
			    .length = length - before - after};

	if (!rule.length)
		return wrong(s, "a pattern is missing: text, with * at either end");
	if (rules->count >= RULES_MAX)
		return err_set(s->err, -E2BIG, "%s has more than %d rules", s->path, RULES_MAX);
	rule.text = strndup(pattern + before, rule.length);
	if (!rule.text || array_reserve(&rules->list, &rules->capacity, (uint64_t)rules->count + 1,
					sizeof(*rules->list)) < 0) {
		free(rule.text);
		return -ENOMEM;
	}
	rule.pairs = pairs_of(rule.text, rule.length);
	rules->list[rules->count++] = rule;
	return 0;
}

static int add_subsystem(struct source *s, const char *name)
{
	struct rules *rules = s->rules;
	char *copy;

	if (!*name)
		return wrong(s, "a subsystem needs a name");
	for (uint32_t i = 0; i < rules->subsystem_count; i++)
		if (!strcasecmp(rules->subsystems[i], name))
			return wrong(s, "there is a subsystem of this name already");
	copy = strdup(name);
	if (!copy ||
	    array_reserve(&rules->subsystems, &rules->subsystem_capacity,
			  (uint64_t)rules->subsystem_count + 1, sizeof(*rules->subsystems)) < 0) {
		free(copy);
		return -ENOMEM;
	}
	rules->subsystems[rules->subsystem_count++] = copy;
	s->in_subsystem = true;
	return 0;
}

static int use(struct source *s, const char *name)
{
	char path[PATH_MAX];
	int r;

	if (!*name)
		return wrong(s, "use which rules?");
	if (s->depth + 1 >= USES_MAX || ++s->rules->files >= FILES_MAX)
		return wrong(s, "files that use each other in a circle, or too many of them");
	r = rules_find(name, s->path, path, s->err);
	if (!r)
		r = rules_read_file(s->rules, path, s->depth + 1, s->err);
	return r < 0 && s->err && s->err->text[0]
		       ? err_prefix(s->err, r, "%s, line %u", s->path, s->line)
		       : r;
}

/* Parses a line that begins with a word. */
static int take_statement(struct source *s, const char *line)
{
	static const struct {
		const char *word;
		enum rule_what what;
	} words[] = {{"noise", RULE_NOISE}, {"outer", RULE_OUTER}, {"grows", RULE_GROWS}};
	size_t length = strcspn(line, " \t");
	const char *rest = line + length + strspn(line + length, " \t");

	s->in_subsystem = false;
	if (length == 3 && !memcmp(line, "use", 3))
		return use(s, rest);
	if (length == 9 && !memcmp(line, "subsystem", 9))
		return add_subsystem(s, rest);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (length == strlen(words[i].word) && !memcmp(line, words[i].word, length))
			return add_pattern(s, words[i].what, rest);
	return wrong(s,
		     "a line begins with use, noise, outer, grows or subsystem; the patterns of a "
		     "subsystem are set in");
}

static int rules_take_line(struct source *s, char *line)
{
	size_t length = strlen(line), indent;

	s->line++;
	while (length && strchr(" \t\r", line[length - 1]))
		line[--length] = 0;
	indent = strspn(line, " \t");
	if (!line[indent] || line[indent] == '#')
		return 0;
	if (!indent)
		return take_statement(s, line);
	if (!s->in_subsystem)
		return wrong(s,
			     "a pattern that is set in belongs to a subsystem, and there is none "
			     "before it");
	return add_pattern(s, RULE_SUBSYSTEM, line + indent);
}

/* Reads the whole file as text, which the caller frees. */
static int rules_read_text(const char *path, char **ret_text, struct err_text *err)
{
	cleanup(cleanup_fclose) FILE *file = fopen(path, "re");
	cleanup(cleanup_free) char *text = malloc(FILE_BYTES_MAX + 1);
	size_t length;

	if (!text)
		return -ENOMEM;
	if (!file)
		return err_set(err, -errno, "reading the rules of %s: %s", path, strerror(errno));
	length = fread(text, 1, FILE_BYTES_MAX + 1, file);
	if (ferror(file))
		return err_set(err, -EIO, "reading the rules of %s: %s", path, strerror(errno));
	if (length > FILE_BYTES_MAX)
		return err_set(err, -E2BIG, "%s is too long for rules: more than 1 MiB", path);
	if (memchr(text, 0, length))
		return err_set(err, -EINVAL, "%s holds no rules: it is no text", path);
	text[length] = 0;
	*ret_text = take_ptr(text);
	return 0;
}

static int rules_read_file(struct rules *rules, const char *path, unsigned depth,
			   struct err_text *err)
{
	struct source s = {.rules = rules, .path = path, .depth = depth, .err = err};
	cleanup(cleanup_free) char *text = NULL;
	char *rest, *line;
	int r = rules_read_text(path, &text, err);

	rest = text;
	while (!r && (line = strsep(&rest, "\n")))
		r = rules_take_line(&s, line);
	return r;
}

int rules_read(const char *name, struct rules **ret_rules, struct err_text *err)
{
	struct rules *rules = calloc(1, sizeof(*rules));
	char path[PATH_MAX];
	int r = rules ? 0 : -ENOMEM;

	if (!r)
		rules->name = strdup(name);
	if (!r && !rules->name)
		r = -ENOMEM;
	if (!r)
		r = rules_find(name, NULL, path, err);
	if (!r)
		r = rules_read_file(rules, path, 0, err);
	if (r < 0) {
		rules_free(rules);
		return r;
	}
	*ret_rules = rules;
	return 0;
}

void rules_free(struct rules *rules)
{
	if (!rules)
		return;
	for (uint32_t i = 0; i < rules->count; i++)
		free(rules->list[i].text);
	for (uint32_t i = 0; i < rules->subsystem_count; i++)
		free(rules->subsystems[i]);
	free(rules->list);
	free(rules->subsystems);
	free(rules->name);
	free(rules);
}

/* ---- judging ---- */

static bool rules_fits(const struct rule *rule, const char *frame, size_t length, uint64_t pairs)
{
	if (rule->pairs & ~pairs)
		return false;
	switch (rule->form) {
	case FORM_WHOLE:
		return length == rule->length && !memcmp(frame, rule->text, length);
	case FORM_BEGIN:
		return length >= rule->length && !memcmp(frame, rule->text, rule->length);
	case FORM_END:
		return length >= rule->length &&
		       !memcmp(frame + length - rule->length, rule->text, rule->length);
	case FORM_PART:
		return memmem(frame, length, rule->text, rule->length);
	}
	return false;
}

struct rules_verdict rules_judge(const struct rules *rules, const char *frame)
{
	struct rules_verdict v = {.subsystem = RULES_NO_SUBSYSTEM};
	size_t length = strlen(frame);
	uint64_t pairs = pairs_of(frame, length);

	for (uint32_t i = 0; i < rules->count; i++) {
		const struct rule *rule = &rules->list[i];
		bool *to = rule->what == RULE_NOISE   ? &v.noise
			   : rule->what == RULE_OUTER ? &v.outer
			   : rule->what == RULE_GROWS ? &v.grows
						      : NULL;

		if (to && !*to)
			*to = rules_fits(rule, frame, length, pairs);
		else if (!to && rule->subsystem < v.subsystem &&
			 rules_fits(rule, frame, length, pairs))
			v.subsystem = rule->subsystem;
	}
	if (v.outer)
		v.subsystem = RULES_NO_SUBSYSTEM;
	return v;
}

const char *rules_name(const struct rules *rules)
{
	return rules->name;
}

uint32_t rules_subsystems(const struct rules *rules)
{
	return rules->subsystem_count;
}

const char *rules_subsystem(const struct rules *rules, uint32_t number)
{
	return number < rules->subsystem_count ? rules->subsystems[number] : NULL;
}
