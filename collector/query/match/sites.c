/*
 * Rules for functions that only pass an allocation on: functions of the C library, operator new,
 * and internals of the C++ and Rust standard libraries. A call site is the innermost frame that
 * fits no rule. Rules are compared with the demangled name without its return type, if it has one
 * ("void* std::..." is compared from "std::" on).
 */
#include "collector/query/hidden.h"
#include "collector/query/match/sites.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/query/query.h"

#include "base/ban.h"

#define RULES_MAX 10000

struct rule {
	enum rule_kind { WHOLE, PREFIX, SUFFIX, PART } kind;
	const char *text;
};

struct site_rules {
	struct rule *list;
	size_t count;
	bool alone; /* without the built-in rules */
};

static const struct rule known[] = {
	/* The C library and the hooks of the preload library. */
	{WHOLE, "malloc"},
	{WHOLE, "calloc"},
	{WHOLE, "realloc"},
	{WHOLE, "reallocarray"},
	{WHOLE, "free"},
	{WHOLE, "posix_memalign"},
	{WHOLE, "aligned_alloc"},
	{WHOLE, "memalign"},
	{WHOLE, "valloc"},
	{WHOLE, "pvalloc"},
	{WHOLE, "strdup"},
	{WHOLE, "__strdup"},
	{WHOLE, "strndup"},
	{WHOLE, "__strndup"},
	{PREFIX, "__libc_malloc"},
	{PREFIX, "__GI___libc_"},
	{PREFIX, "__interceptor_"},
	/* Usual names of a program's own wrappers, and those of widely used libraries. Others are
	 * found by their share (sums/wrappers.c), but where a program calls them from few places
	 * or a library is stripped, a name tells at once. */
	{WHOLE, "xmalloc"},
	{WHOLE, "xcalloc"},
	{WHOLE, "xrealloc"},
	{WHOLE, "xreallocarray"},
	{WHOLE, "xalloc"},
	{WHOLE, "xzalloc"},
	{WHOLE, "xnmalloc"},
	{WHOLE, "x2realloc"},
	{WHOLE, "x2nrealloc"},
	{WHOLE, "xcharalloc"},
	{WHOLE, "xstrdup"},
	{WHOLE, "xstrndup"},
	{WHOLE, "xmemdup"},
	{WHOLE, "xmemdupz"},
	{WHOLE, "safe_malloc"},
	{WHOLE, "safe_calloc"},
	{WHOLE, "safe_realloc"},
	{WHOLE, "g_strdup"},
	{WHOLE, "g_strndup"},
	{WHOLE, "g_memdup"},
	{WHOLE, "g_memdup2"},
	{WHOLE, "sqlite3MemMalloc"},
	{WHOLE, "sqlite3MemRealloc"},
	{WHOLE, "mallocWithAlarm"},
	{WHOLE, "sqlite3Malloc"},
	{WHOLE, "sqlite3Realloc"},
	{WHOLE, "sqlite3MallocZero"},
	{WHOLE, "sqlite3_malloc"},
	{WHOLE, "sqlite3_malloc64"},
	{WHOLE, "sqlite3_realloc"},
	{WHOLE, "sqlite3_realloc64"},
	{WHOLE, "dbMallocRawFinish"},
	{WHOLE, "dbReallocFinish"},
	{PREFIX, "g_malloc"},
	{PREFIX, "g_realloc"},
	{PREFIX, "g_try_malloc"},
	{PREFIX, "g_try_realloc"},
	{PREFIX, "g_slice_alloc"},
	{PREFIX, "CRYPTO_malloc"},
	{PREFIX, "CRYPTO_zalloc"},
	{PREFIX, "CRYPTO_realloc"},
	{PREFIX, "CRYPTO_strdup"},
	{PREFIX, "sqlite3DbMalloc"},
	{PREFIX, "sqlite3DbRealloc"},
	{PREFIX, "PyMem_"},
	{PREFIX, "PyObject_Malloc"},
	{PREFIX, "PyObject_Calloc"},
	{PREFIX, "PyObject_Realloc"},
	{PREFIX, "_PyMem_Raw"},
	{PREFIX, "Perl_safesys"},
	{PREFIX, "je_"},
	{PREFIX, "mi_malloc"},
	{PREFIX, "tc_malloc"},
	/* C++ */
	{PREFIX, "operator new"},
	{PREFIX, "operator delete"},
	{PREFIX, "__gnu_cxx::"},
	{PREFIX, "std::allocator"},
	{PREFIX, "std::__new_allocator"},
	{PREFIX, "std::__allocate_guarded"},
	{PREFIX, "std::_Vector_base<"},
	{PREFIX, "std::vector<"},
	{PREFIX, "std::_Deque_base<"},
	{PREFIX, "std::deque<"},
	{PREFIX, "std::_Rb_tree<"},
	{PREFIX, "std::map<"},
	{PREFIX, "std::multimap<"},
	{PREFIX, "std::set<"},
	{PREFIX, "std::multiset<"},
	{PREFIX, "std::_Hashtable<"},
	{PREFIX, "std::__detail::"},
	{PREFIX, "std::unordered_"},
	{PREFIX, "std::_List_base<"},
	{PREFIX, "std::__cxx11::_List_base<"},
	{PREFIX, "std::__cxx11::list<"},
	{PREFIX, "std::__cxx11::basic_string<"},
	{PREFIX, "std::basic_string<"},
	{PREFIX, "std::string::"},
	{PREFIX, "std::__shared_"},
	{PREFIX, "std::shared_ptr<"},
	{PREFIX, "std::make_shared<"},
	{PREFIX, "std::allocate_shared<"},
	{PREFIX, "std::make_unique<"},
	{PREFIX, "std::__uninitialized_"},
	{PREFIX, "std::_Function_base"},
	{PREFIX, "std::function<"},
	{PREFIX, "std::pmr::"},
	{PREFIX, "std::pair<"},
	{PREFIX, "std::tuple<"},
	{PREFIX, "std::_Tuple_impl<"},
	{PREFIX, "std::_Head_base<"},
	{PREFIX, "std::unique_ptr<"},
	{PREFIX, "std::optional<"},
	{PREFIX, "std::_Optional_"},
	{PREFIX, "std::variant<"},
	{PREFIX, "std::any::"},
	{PREFIX, "std::queue<"},
	{PREFIX, "std::stack<"},
	{PREFIX, "std::priority_queue<"},
	{PREFIX, "std::_Bind"},
	{PREFIX, "std::_Temporary_buffer<"},
	{PREFIX, "std::get_temporary_buffer<"},
	{PREFIX, "std::_Construct"},
	{PREFIX, "std::construct_at"},
	{PREFIX, "std::__construct_at"},
	{PREFIX, "std::__copy_move"},
	{PREFIX, "std::__do_uninit"},
	{PREFIX, "std::uninitialized_"},
	{PREFIX, "std::operator+<"},
	{PREFIX, "std::to_string"},
	{PREFIX, "std::_Fwd_list_base<"},
	{PREFIX, "std::forward_list<"},
	{PREFIX, "std::__cxx11::to_string"},
	{PREFIX, "std::__cxx11::basic_stringbuf<"},
	{PREFIX, "std::basic_stringbuf<"},
	{PREFIX, "std::__1::__libcpp_"},
	{PREFIX, "std::__1::allocator"},
	{PREFIX, "std::__1::vector<"},
	{PREFIX, "std::__1::basic_string<"},
	{PREFIX, "std::__1::__tree<"},
	{PREFIX, "std::__1::__hash_table<"},
	{PREFIX, "std::__1::map<"},
	{PREFIX, "std::__1::multimap<"},
	{PREFIX, "std::__1::set<"},
	{PREFIX, "std::__1::multiset<"},
	{PREFIX, "std::__1::unordered_"},
	{PREFIX, "std::__1::list<"},
	{PREFIX, "std::__1::deque<"},
	{PREFIX, "std::__1::__split_buffer<"},
	{PREFIX, "std::__1::pair<"},
	{PREFIX, "std::__1::shared_ptr<"},
	{PREFIX, "std::__1::make_shared<"},
	{PREFIX, "std::__1::allocate_shared<"},
	{PREFIX, "std::__1::make_unique<"},
	{PREFIX, "std::__1::unique_ptr<"},
	{PREFIX, "std::__1::function<"},
	{PREFIX, "std::__1::__function::"},
	{PREFIX, "std::__1::optional<"},
	/* Qt, Abseil */
	{PREFIX, "QArrayData::allocate"},
	{PREFIX, "QTypedArrayData<"},
	{PREFIX, "QListData::"},
	{PREFIX, "QList<"},
	{PREFIX, "QVector<"},
	{PREFIX, "QHash<"},
	{PREFIX, "QHashData::"},
	{PREFIX, "QMap<"},
	{PREFIX, "QMapDataBase::"},
	{PREFIX, "QString::"},
	{PREFIX, "QByteArray::"},
	{PREFIX, "absl::container_internal::"},
	{PREFIX, "absl::InlinedVector<"},
	/* Rust */
	{PREFIX, "__rust_"},
	{PREFIX, "__rdl_"},
	{PREFIX, "alloc::alloc::"},
	{PREFIX, "alloc::raw_vec::"},
	{PREFIX, "alloc::vec::"},
	{PREFIX, "alloc::boxed::"},
	{PREFIX, "alloc::string::"},
	{PREFIX, "alloc::slice::"},
	{PREFIX, "<alloc::"},
	{PREFIX, "hashbrown::"},
	{PREFIX, "alloc::collections::"},
	{PREFIX, "alloc::rc::"},
	{PREFIX, "alloc::sync::"},
	{PREFIX, "alloc::str::"},
	{PREFIX, "alloc::borrow::"},
	{PREFIX, "std::collections::"},
	{PREFIX, "core::iter::"},
	{PART, " as core::alloc::global::GlobalAlloc>::"},
	{PART, " as core::alloc::Allocator>::"},
};

/* Returns the start of the name after a return type: behind the last blank outside of brackets, but
 * not within "operator new". */
static const char *after_return_type(const char *function)
{
	const char *start = function;
	int depth = 0;

	if (!strncmp(function, "operator ", 9))
		return function;
	for (const char *p = function; *p; p++) {
		if (*p == '(' && !depth)
			break;
		if (*p == '<' || *p == '(' || *p == '{' || *p == '[')
			depth++;
		else if (*p == '>' || *p == ')' || *p == '}' || *p == ']')
			depth--;
		else if (*p == ' ' && !depth) {
			start = p + 1;
			if (!strncmp(start, "operator ", 9))
				break;
		}
	}
	return start;
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), wanted = strlen(end);

	return length >= wanted && !strcmp(text + length - wanted, end);
}

static bool rule_fits(const struct rule *rule, const char *function, const char *name)
{
	/* Most rules fall away here, without a call. */
	if (rule->kind <= PREFIX && *rule->text != *name && *rule->text != *function)
		return false;
	switch (rule->kind) {
	case WHOLE:
		return !strcmp(name, rule->text) || !strcmp(function, rule->text);
	case PREFIX:
		return !strncmp(name, rule->text, strlen(rule->text)) ||
		       !strncmp(function, rule->text, strlen(rule->text));
	case SUFFIX:
		return ends_with(function, rule->text);
	case PART:
		return strstr(function, rule->text);
	}
	return false;
}

bool site_is_allocator(const struct site_rules *rules, const char *function)
{
	const char *name = after_return_type(function);

	for (size_t i = 0; rules && i < rules->count; i++)
		if (rule_fits(&rules->list[i], function, name))
			return true;
	for (size_t i = 0; !(rules && rules->alone) && i < sizeof(known) / sizeof(known[0]); i++)
		if (rule_fits(&known[i], function, name))
			return true;
	return false;
}

/* FNV-1a, over the kinds and the texts with their NULs. */
uint64_t site_rules_print(void)
{
	uint64_t print = 0xcbf29ce484222325;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		print = (print ^ known[i].kind) * 0x100000001b3;
		for (size_t k = 0; k <= strlen(known[i].text); k++)
			print = (print ^ (uint8_t)known[i].text[k]) * 0x100000001b3;
	}
	return print;
}

char *site_disguise(const char *function, const char *word)
{
	const char *name = after_return_type(function), *end = "";
	const struct rule *rule = NULL;
	char *out;

	for (size_t i = 0; !rule && i < sizeof(known) / sizeof(known[0]); i++)
		if (rule_fits(&known[i], function, name))
			rule = &known[i];
	if (!rule)
		return NULL;
	if (rule->kind == WHOLE)
		return strdup(rule->text);
	if (ends_with(rule->text, "<"))
		end = ">";
	else if (rule->kind == PREFIX && !ends_with(rule->text, ":") && !ends_with(rule->text, "_"))
		end = "]";
	if (asprintf(&out, "%s%s%s%s%s", rule->kind == PART ? "<" : "",
		     rule->kind == PART ? word : rule->text, *end == ']' ? "[" : "",
		     rule->kind == PART ? rule->text : word, rule->kind == PART ? word : end) < 0)
		return NULL;
	return out;
}

int hide_parse(const char *word, const char *name, struct filter *filter, struct err_text *err)
{
	static const struct {
		const char *word;
		enum filter_hide hide;
	} words[] = {{"auto", HIDE_AUTO},
		     {"rules", HIDE_RULES},
		     {"none", HIDE_NONE},
		     {"yes", HIDE_AUTO},
		     {"no", HIDE_NONE}};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(word, words[i].word)) {
			filter->hide = words[i].hide;
			return 0;
		}
	return err_set(err, -EINVAL, "%s takes auto, rules or none, not \"%.60s\"", name, word);
}

/* ---- rules from a file ---- */

/* `pattern` is "name", "begin*", "*end" or "*part*", and not all stars. */
static int add_rule(struct site_rules *rules, const char *pattern)
{
	size_t length = strlen(pattern);
	bool before = pattern[0] == '*', after = pattern[length - 1] == '*';
	struct rule *list;
	char *text;

	list = reallocarray(rules->list, rules->count + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	rules->list = list;
	text = strndup(pattern + before, length - before - after);
	if (!text)
		return -ENOMEM;
	list[rules->count++] =
		(struct rule){before ? (after ? PART : SUFFIX) : (after ? PREFIX : WHOLE), text};
	return 0;
}

static int sites_add_line(struct site_rules *rules, const char *path, unsigned number, char *line,
			  struct err_text *err)
{
	size_t length;

	line += strspn(line, " \t");
	length = strlen(line);
	while (length && strchr(" \t\r\n", line[length - 1]))
		line[--length] = 0;
	if (!length || line[0] == '#')
		return 0;
	if (!strcmp(line, "!default")) {
		rules->alone = true;
		return 0;
	}
	if (!strcmp(line, "*") || !strcmp(line, "**") || line[0] == '!')
		return err_set(err, -EINVAL,
			       "%s, line %u: \"%.60s\" is no rule: it takes a function's name, "
			       "with * at either end, or "
			       "!default to do without the known ones",
			       path, number, line);
	return add_rule(rules, line);
}

int site_rules_read(const char *path, struct site_rules **ret_rules, struct err_text *err)
{
	cleanup(cleanup_fclose) FILE *file = fopen(path, "re");
	struct site_rules *rules = calloc(1, sizeof(*rules));
	cleanup(cleanup_free) char *line = NULL;
	size_t size = 0;
	int r = rules ? 0 : -ENOMEM;

	if (!r && !file)
		r = err_set(err, -errno, "reading the rules of %s: %s", path, strerror(errno));
	for (unsigned number = 1; !r && getline(&line, &size, file) >= 0; number++)
		r = rules->count < RULES_MAX
			    ? sites_add_line(rules, path, number, line, err)
			    : err_set(err, -E2BIG, "%s has more than %d rules", path, RULES_MAX);
	if (r < 0) {
		site_rules_free(rules);
		return r;
	}
	*ret_rules = rules;
	return 0;
}

void site_rules_free(struct site_rules *rules)
{
	if (!rules)
		return;
	for (size_t i = 0; i < rules->count; i++)
		free((void *)(uintptr_t)rules->list[i].text);
	free(rules->list);
	free(rules);
}
