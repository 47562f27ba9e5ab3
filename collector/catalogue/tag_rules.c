/* Tags that the collector adds. See tag_rules.h. */
#include "collector/catalogue/tag_rules.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/words.h"
#include "collector/catalogue/select.h"
#include "collector/catalogue/store.h"
#include "base/ban.h"

#define TAGS_NAME     "tags.sqlite"
#define BUSY_MS	      5000
#define TAG_RULES_MAX 10000
#define KEY_MAX	      32
#define VALUE_MAX     96 /* bytes */

DEFINE_CLEANUP(sqlite3_close, sqlite3 *)
DEFINE_CLEANUP(sqlite3_finalize, sqlite3_stmt *)

static int rules_failed(sqlite3 *db, const char *what, struct err_text *err)
{
	int code = sqlite3_errcode(db) & 0xff;

	return err_set(err,
		       code == SQLITE_NOMEM				 ? -ENOMEM
		       : code == SQLITE_FULL				 ? -ENOSPC
		       : code == SQLITE_BUSY				 ? -EBUSY
		       : code == SQLITE_CORRUPT || code == SQLITE_NOTADB ? -EBADMSG
									 : -EIO,
		       "can't %s " TAGS_NAME ": %s", what, sqlite3_errmsg(db));
}

static int open_rules(const char *folder, bool write, sqlite3 **ret_db, struct err_text *err)
{
	cleanup(cleanup_sqlite3_close) sqlite3 *db = NULL;
	cleanup(cleanup_free) char *path = NULL;
	int flags = write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;

	if (asprintf(&path, "%s/" TAGS_NAME, folder) < 0)
		return -ENOMEM;
	if (!write && access(path, F_OK) < 0)
		return -ENOENT;
	if (write) {
		int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600); /* SQLite uses the umask */

		if (fd >= 0)
			close(fd);
	}
	if (sqlite3_open_v2(path, &db, flags, NULL) != SQLITE_OK)
		return rules_failed(db, "open", err);
	sqlite3_busy_timeout(db, BUSY_MS);
	if (write && sqlite3_exec(db,
				  "PRAGMA synchronous = FULL; CREATE TABLE IF NOT EXISTS rules "
				  "(number INTEGER PRIMARY KEY AUTOINCREMENT, tags TEXT NOT NULL, "
				  "selector TEXT NOT NULL)",
				  NULL, NULL, NULL) != SQLITE_OK)
		return rules_failed(db, "write", err);
	*ret_db = take_ptr(db);
	return 0;
}

/* The limits are those of agents (agent/core/tags.h). */
static int check_tags(const char *tags, struct err_text *err)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
	char clean[VALUE_MAX + 2];

	for (const char *at = tags; *at;) {
		size_t n = strcspn(at, ","), key = strspn(at, letters);
		bool good = key && key <= KEY_MAX && key < n && at[key] == '=' &&
			    n - key - 1 <= VALUE_MAX;

		if (good)
			good = words_clean(clean, sizeof(clean), at + key + 1, n - key - 1) ==
				       n - key - 1 &&
			       !memcmp(clean, at + key + 1, n - key - 1);
		if (!good)
			return err_set(
				err, -EINVAL,
				"a tag is KEY=VALUE, such as site=berlin: letters, digits, "
				"'_', '-' and '.' in KEY (%d at most), a line of %d bytes at "
				"most in VALUE",
				KEY_MAX, VALUE_MAX);
		at += n + (at[n] == ',');
	}
	return *tags ? 0 : err_set(err, -EINVAL, "which tag? KEY=VALUE, such as site=berlin");
}

int tag_rules_add(const char *folder, const char *tags, const char *selector, uint64_t *ret_number,
		  struct err_text *err)
{
	cleanup(cleanup_sqlite3_close) sqlite3 *db = NULL;
	cleanup(cleanup_sqlite3_finalize) sqlite3_stmt *s = NULL;
	struct selector *parsed = NULL;
	int r = check_tags(tags, err);

	if (!r && *selector)
		r = selector_parse(selector, &parsed, err);
	if (!r)
		r = open_rules(folder, true, &db, err);
	selector_free(parsed);
	if (r < 0)
		return r;
	if (sqlite3_prepare_v2(db, "INSERT INTO rules (tags, selector) VALUES (?1, ?2)", -1, &s,
			       NULL) != SQLITE_OK ||
	    sqlite3_bind_text(s, 1, tags, -1, SQLITE_STATIC) != SQLITE_OK ||
	    sqlite3_bind_text(s, 2, selector, -1, SQLITE_STATIC) != SQLITE_OK ||
	    sqlite3_step(s) != SQLITE_DONE)
		return rules_failed(db, "write", err);
	*ret_number = (uint64_t)sqlite3_last_insert_rowid(db);
	return 0;
}

int tag_rules_remove(const char *folder, uint64_t number, struct err_text *err)
{
	cleanup(cleanup_sqlite3_close) sqlite3 *db = NULL;
	cleanup(cleanup_sqlite3_finalize) sqlite3_stmt *s = NULL;
	int r = open_rules(folder, true, &db, err);

	if (r < 0)
		return r;
	if (sqlite3_prepare_v2(db, "DELETE FROM rules WHERE number = ?1", -1, &s, NULL) !=
		    SQLITE_OK ||
	    sqlite3_bind_int64(s, 1, (sqlite3_int64)number) != SQLITE_OK ||
	    sqlite3_step(s) != SQLITE_DONE)
		return rules_failed(db, "write", err);
	return sqlite3_changes(db) ? 0 : -ENOENT;
}

void tag_rules_free(struct tag_rule *rules, size_t count)
{
	for (size_t i = 0; rules && i < count; i++) {
		free(rules[i].tags);
		free(rules[i].selector);
	}
	free(rules);
}

static int read_rule(sqlite3_stmt *s, struct tag_rule *ret)
{
	const char *tags = (const char *)sqlite3_column_text(s, 1);
	const char *selector = (const char *)sqlite3_column_text(s, 2);

	*ret = (struct tag_rule){(uint64_t)sqlite3_column_int64(s, 0), strdup(tags ? tags : ""),
				 strdup(selector ? selector : "")};
	return ret->tags && ret->selector ? 0 : -ENOMEM;
}

int tag_rules_read(const char *folder, struct tag_rule **ret_rules, size_t *ret_count,
		   struct err_text *err)
{
	cleanup(cleanup_sqlite3_close) sqlite3 *db = NULL;
	cleanup(cleanup_sqlite3_finalize) sqlite3_stmt *s = NULL;
	struct tag_rule *rules = NULL;
	uint32_t count = 0, capacity = 0;
	int r = open_rules(folder, false, &db, err), code = SQLITE_ROW;

	*ret_rules = NULL;
	*ret_count = 0;
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (sqlite3_prepare_v2(db, "SELECT number, tags, selector FROM rules ORDER BY number", -1,
			       &s, NULL) != SQLITE_OK)
		return rules_failed(db, "read", err);
	while (!r && count < TAG_RULES_MAX && (code = sqlite3_step(s)) == SQLITE_ROW) {
		r = array_reserve(&rules, &capacity, (uint64_t)count + 1, sizeof(*rules));
		if (!r)
			r = read_rule(s, &rules[count++]);
	}
	if (!r && code != SQLITE_DONE && code != SQLITE_ROW)
		r = rules_failed(db, "read", err);
	if (r < 0) {
		tag_rules_free(rules, count);
		return r;
	}
	*ret_rules = rules;
	*ret_count = count;
	return 0;
}

static int apply_rule(const struct tag_rule *rule, struct stream_summary *list, size_t count)
{
	struct selector *selector = NULL;
	int r = *rule->selector ? selector_parse(rule->selector, &selector, NULL) : 0;

	if (r < 0)
		return r == -ENOMEM ? r : 0; /* of a later version */
	for (size_t i = 0; !r && i < count; i++) {
		char *tags;

		if (!selector_matches(selector, &list[i]))
			continue;
		tags = labels_add_tags(list[i].labels.tags, rule->tags);
		if (!tags) {
			r = -ENOMEM;
			break;
		}
		free(list[i].labels.tags);
		list[i].labels.tags = tags;
	}
	selector_free(selector);
	return r;
}

int tag_rules_apply(const char *folder, struct stream_summary *list, size_t count,
		    struct err_text *err)
{
	struct tag_rule *rules;
	size_t rule_count;
	int r = tag_rules_read(folder, &rules, &rule_count, err);

	for (size_t i = 0; !r && i < rule_count; i++)
		r = apply_rule(&rules[i], list, count);
	if (r >= 0)
		tag_rules_free(rules, rule_count);
	return r;
}
