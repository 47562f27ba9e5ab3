/* Shortens names of functions. fold_name.h describes the interface. */
#include "collector/symbols/fold_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/ban.h"

#define OPERATOR "operator"

struct folding {
	char *out;
	size_t size, length;
	ptrdiff_t kept; /* bytes of template arguments that stay, with their brackets */
};

static void fold_put(struct folding *f, const char *text, size_t length)
{
	size_t room = f->size - 1 - f->length;

	if (length > room)
		length = room;
	memcpy(f->out + f->length, text, length);
	f->length += length;
}

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (c & 0x80);
}

/* Returns the length of the operator's name at `at`, such as "operator<<", or 0. */
static size_t operator_length(const char *name, const char *at)
{
	static const char *const signs[] = {"<=>", "<<=",    ">>=",	  "->*", "<<", ">>",
					    "<=",  ">=",     "->",	  "()",	 "[]", "<",
					    ">",   " new[]", " delete[]", NULL};
	size_t length = strlen(OPERATOR);

	if (strncmp(at, OPERATOR, length) != 0 || (at > name && is_name(at[-1])))
		return 0;
	for (const char *const *sign = signs; *sign; sign++)
		if (!strncmp(at + length, *sign, strlen(*sign)))
			return length + strlen(*sign);
	return 0;
}

/* Returns the position behind the bracket that closes the one at `at`; NULL: it is not closed. */
static const char *fold_skip(const char *name, const char *at)
{
	char open[64];
	unsigned depth = 0;

	for (; *at; at++) {
		size_t length = operator_length(name, at);

		if (length) {
			at += length - 1;
			continue;
		}
		if (strchr("<([{", *at)) {
			if (depth == sizeof(open))
				return NULL;
			open[depth++] = *at;
		} else if (strchr(">)]}", *at)) {
			if (*at == '>' && at > name && at[-1] == '-')
				continue; /* the '>' of "->" closes no bracket */
			if (!depth || strchr(">)]}", *at) - ">)]}" !=
					      strchr("<([{", open[depth - 1]) - "<([{")
				return NULL;
			if (!--depth)
				return at + 1;
		}
	}
	return NULL;
}

/* Returns true if this is the `<` of "<impl X for Y>" or "<T as Trait>", which begin a name in
 * Rust. */
static bool begins_path(const char *name, const char *at)
{
	return at == name || (at >= name + 2 && at[-1] == ':' && at[-2] == ':') || at[-1] == '<' ||
	       at[-1] == ' ' || at[-1] == '&' || at[-1] == '(';
}

static bool has_word(const char *from, const char *to, const char *word)
{
	for (size_t length = strlen(word); from + length <= to; from++)
		if (!memcmp(from, word, length))
			return true;
	return false;
}

/* Returns the path's last part without the modules before it: "Drop" of "core::ops::drop::Drop". */
static const char *last_part(const char *from, const char *to)
{
	const char *start = from;

	for (const char *at = from; at < to && *at != '<'; at++)
		if (at + 2 < to && at[0] == ':' && at[1] == ':')
			start = at + 2;
	return start;
}

static void fold_range(struct folding *f, const char *name, const char *from, const char *to);

/* Writes both types of "<alloc::vec::Vec<T> as core::ops::Drop>", without modules and arguments. */
static void fold_rust(struct folding *f, const char *name, const char *from, const char *to)
{
	static const char *const links[] = {" as ", " for "};

	for (size_t i = 0; i < 2; i++) {
		unsigned depth = 0;

		for (const char *at = from; at + 4 < to; at++) {
			depth += *at == '<';
			depth -= *at == '>' && depth && at[-1] != '-';
			if (depth || strncmp(at, links[i], strlen(links[i])) != 0)
				continue;
			fold_range(f, name, last_part(from, at), at);
			fold_put(f, links[i], strlen(links[i]));
			from = at + strlen(links[i]);
			fold_range(f, name, last_part(from, to), to);
			return;
		}
	}
	fold_range(f, name, last_part(from, to), to);
}

/* Writes the text between `from` and `to`, folded. Its brackets must match. */
static void fold_range(struct folding *f, const char *name, const char *from, const char *to)
{
	while (from < to) {
		size_t length = operator_length(name, from);
		const char *end;

		if (length) {
			fold_put(f, from, length);
			from += length;
			if (*from == ' ' && from[1] == '<')
				fold_put(f, from++, 1);
			continue;
		}
		end = strchr("<({[", *from) ? fold_skip(name, from) : NULL;
		if (!end || end > to) {
			fold_put(f, from++, 1);
		} else if (*from == '<' && begins_path(name, from) &&
			   (has_word(from, end, " as ") || has_word(from, end, "impl ") ||
			    from == name)) {
			fold_put(f, "<", 1);
			fold_rust(f, name, from + 1, end - 1);
			fold_put(f, ">", 1);
			from = end;
		} else if (*from == '<') {
			if (end - from > f->kept)
				fold_put(f, "<...>", 5);
			else
				fold_put(f, from, (size_t)(end - from));
			from = end;
		} else if (*from == '(' && !strncmp(from, "(anonymous namespace)", 21)) {
			fold_put(f, from, (size_t)(end - from));
			from = end;
		} else if (*from == '(') {
			from = end; /* parameters, and the const behind them */
			while (from < to &&
			       (!strncmp(from, " const", 6) || !strncmp(from, " &", 2)))
				from += *(from + 1) == 'c' ? 6 : 2;
		} else if (*from == '{') {
			fold_put(f, "{", 1);
			fold_range(f, name, from + 1, end - 1);
			fold_put(f, "}", 1);
			from = end;
		} else { /* [abi:cxx11], [clone .part.0] */
			from = end;
		}
	}
}

/* Skips the result type in front of an instance of a template: returns the position behind the last
 * blank that is outside of brackets and before the parameters. */
static const char *behind_result(const char *name)
{
	const char *start = name;

	if (*name == '<' || *name == '[')
		return name;
	for (const char *at = name; *at;) {
		size_t length = operator_length(name, at);
		const char *end = !length && strchr("<({[", *at) ? fold_skip(name, at) : NULL;

		if (length) {
			at += length;
			at += *at == ' '; /* "operator<< <int>" */
		} else if (!strncmp(at, OPERATOR " ", strlen(OPERATOR) + 1) ||
			   (*at == '(' && strncmp(at, "(anonymous", 10) != 0)) {
			return start; /* "operator new", "operator int", parameters */
		} else if (end) {
			at = end;
		} else if (*at++ == ' ') {
			start = at;
		}
	}
	return name;
}

size_t fold_name(char *out, size_t size, const char *name)
{
	return fold_long_name(out, size, name, strlen("<int>"));
}

size_t fold_long_name(char *out, size_t size, const char *name, size_t kept)
{
	struct folding f = {.out = out, .size = size, .kept = (ptrdiff_t)kept};
	const char *end = name + strlen(name);

	if (!size)
		return 0;
	if (*name == '[' || !strpbrk(name, "<(")) /* [libc.so.6+0x1234] */
		fold_put(&f, name, (size_t)(end - name));
	else
		fold_range(&f, name, behind_result(name), end);
	while (f.length && out[f.length - 1] == ' ')
		f.length--;
	if (!f.length)
		fold_put(&f, name, (size_t)(end - name));
	out[f.length] = '\0';
	return f.length;
}
