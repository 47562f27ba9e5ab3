#pragma once
/*
 * An ingest that stands still: its loop does not turn, so that a test calls what is within, at the
 * times that it sets. What it tells is a text, a line an event.
 */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "collector/catalogue/store.h"
#include "collector/ingest/state.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/temporary.h"

static uv_loop_t loop;
static struct store *store;
static struct ingest *ingest;
static char told[8192];
static unsigned still_opened;

static void still_on_event(void *context, const struct ingest_event *e)
{
	static const char *const kinds[] = {"found", "connected", "disconnected", "began",  "ended",
					    "left",  "file",	  "reply",	  "warning"};
	size_t used = strlen(told);

	(void)context;
	snprintf(told + used, sizeof(told) - used, "%s%s%s%s%s\n", kinds[e->kind],
		 e->address ? " " : "", e->address ? e->address : "", e->text ? ": " : "",
		 e->text ? e->text : "");
}

/* What was told since is this. */
static inline void check_told(const char *expected)
{
	assert_string_equal(told, expected);
	told[0] = 0;
}

static void still_begin(struct ingest_options options)
{
	struct err_text err = {0};

	/* The first loop of a program opens what stays open. */
	assert_int_equal(uv_loop_init(&loop), 0);
	assert_int_equal(uv_loop_close(&loop), 0);
	still_opened = descriptors_open();
	if (!options.listen)
		options.listen = "off";
	options.event = still_on_event;
	assert_int_equal(uv_loop_init(&loop), 0);
	assert_int_equal(store_open(temporary_folder, STORE_WRITE, &store, &err), 0);
	if (ingest_start(&loop, store, &options, &ingest, &err) < 0)
		fail_msg("%s", err.text);
	loop.time = 1000000;
	told[0] = 0;
}

static void still_end(void)
{
	told[0] = 0;
	ingest_stop(ingest, NULL, NULL);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
	store_close(store);
	assert_int_equal(descriptors_open(), still_opened);
}
