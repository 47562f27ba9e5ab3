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
#include "tests/unit/ingest/support/peers.h"
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
	used += (size_t)snprintf(told + used, sizeof(told) - used, "%s%s%s%s%s", kinds[e->kind],
				 e->address ? " " : "", e->address ? e->address : "",
				 e->text ? ": " : "", e->text ? e->text : "");
	if (e->kind == INGEST_CONNECTED)
		used += (size_t)snprintf(told + used, sizeof(told) - used, " %s %s%s", e->host,
					 e->version, e->key);
	if (e->stream && e->executable)
		used += (size_t)snprintf(
			told + used, sizeof(told) - used, " %02x %s %u: %llu events, %llu bytes%s",
			e->stream->bytes[0], e->executable, e->pid, (unsigned long long)e->events,
			(unsigned long long)e->bytes, e->complete ? ", all" : "");
	snprintf(told + used, sizeof(told) - used, "\n");
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

/* An agent that the test plays: it dials in. Its id begins with `name`. */
static inline void guest_dial(struct agent *a, uint8_t name)
{
	const struct timeval moment = {.tv_usec = 20000};

	agent_begin(a, NULL);
	close(a->listener);
	a->id[0] = name;
	a->dial = ingest_port(ingest);
	assert_true(agent_dial(a, NULL));
	setsockopt(a->fd, SOL_SOCKET, SO_RCVTIMEO, &moment, sizeof(moment));
}

/* Turns the loop until something is told, or a while has passed. */
static inline void turn(void)
{
	for (unsigned i = 0; i < 3000 && !told[0]; i++)
		uv_run(&loop, UV_RUN_ONCE);
}

static inline void guest_done(struct agent *a)
{
	agent_leave(a);
	agent_done(a);
}
