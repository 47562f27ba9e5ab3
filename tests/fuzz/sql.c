/*
 * Statements of SQL as a stranger sends them, and the same text as a condition of a filter: run
 * over a small recording within narrow limits. Whatever it says must end soon, with an answer or a
 * sentence, and change nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "collector/query/query.h"
#include "collector/sql/render.h"
#include "collector/sql/sql.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/query/recording.h"

#define LENGTH_MAX 2048
#define EVENTS	   120

static struct test_recording *recording(void)
{
	static struct test_recording t;

	if (!t.view)
		test_random_recording(&t, 7, EVENTS, true);
	return &t;
}

static const struct sql_limits limits = {
	.time_ns = 5000000, .memory_bytes = 32u << 20, .temp_bytes = 1u << 20, .rows = 1000};

static int clear(void *context, struct buf *out)
{
	(void)context;
	buf_clear(out);
	return 0;
}

static void run(struct view *view, const char *text, enum sql_format format)
{
	struct buf out = {0};
	struct sql_render render = {.format = format, .out = &out, .flush = clear};
	struct sql_sink sink = sql_render_sink(&render);
	struct sql_place place;
	struct err_text err = {0};
	struct sql *sql;

	if (sql_open(view, &limits, &sql, &err) < 0)
		abort();
	if (sql_run(sql, text, &sink, &place, &err) < 0 && !err.text[0])
		abort(); /* a failure without a sentence */
	sql_close(sql);
	sql_render_done(&render);
	buf_done(&out);
}

/* The first byte chooses. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct test_recording *t = recording();
	char text[LENGTH_MAX + 1];
	struct filter filter;
	struct err_text err = {0};

	if (size < 1 || size > LENGTH_MAX)
		return 0;
	memcpy(text, data + 1, size - 1);
	text[size - 1] = 0;
	if (data[0] == 'w') {
		filter_init(&filter);
		sql_add_condition(&filter, t->view, text, &limits, &err);
		filter_done(&filter);
	} else {
		run(t->view, text, data[0] == 'c' ? SQL_CSV : SQL_JSON);
	}
	return 0;
}
