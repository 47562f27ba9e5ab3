#pragma once
/* What the tests of the REST API share: a server with one recording, and what asks it. */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/http/server/http.h"
#include "collector/recording/recording.h"
#include "collector/recording/stream_id.h"
#include "tests/unit/http/client.h"
#include "tests/unit/query/recording.h"
#include "proto/stack_columns.h"

#define SEED   11
#define EVENTS 5000

static struct http *http;
static struct test_recording t;
static char *path;
static char id[STREAM_ID_TEXT];

static inline int start(void **state)
{
	static const char *files[2];
	struct stack_node nodes[TEST_NODES];
	struct builder b;
	uint64_t random = SEED;
	struct err_text err = {0};
	struct http_options options = {.token = CLIENT_TOKEN, .files = files};

	(void)state;
	builder_init(&b, SEED);
	test_nodes(nodes, &random);
	test_first_batch(&b, nodes, TEST_NODES, "/nowhere/<script>alert(1)</script>.so", 0, false);
	test_random_events(&b, &random, EVENTS, false);
	builder_end(&b, 0);
	path = builder_save(&b, b.file.length);
	test_open(&t, &b);
	builder_done(&b);
	stream_id_format(id, recording_id(t.recording));
	files[0] = path;
	if (http_start(&options, &http, &err) < 0)
		fail_msg("%s", err.text);
	return 0;
}

static inline int stop(void **state)
{
	(void)state;
	http_stop(http);
	test_close(&t);
	unlink(path);
	free(path);
	return 0;
}

static inline json_t *get_json(const char *target, int status)
{
	struct answer a;
	json_error_t error;
	json_t *json;

	client_get(http_port(http), target, &a);
	if (a.status != status || !a.complete)
		fail_msg("%s: status %d, complete %d: %.200s", target, a.status, a.complete,
			 (char *)a.body.data);
	json = json_loadb((char *)a.body.data, a.body.length, 0, &error);
	if (!json)
		fail_msg("%s: %s: %.200s", target, error.text, (char *)a.body.data);
	assert_non_null(strstr(a.head, "application/json"));
	buf_done(&a.body);
	return json;
}

static inline json_int_t number(const json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	if (!json_is_integer(value))
		fail_msg("%s is missing or no integer", key);
	return json_integer_value(value);
}

static inline void refused(const char *target, int status, const char *parameter,
			   const char *sentence)
{
	json_t *json = get_json(target, status);
	const char *error = json_string_value(json_object_get(json, "error"));
	const char *named = json_string_value(json_object_get(json, "parameter"));

	if (!error || !strstr(error, sentence))
		fail_msg("%s: \"%s\" does not say \"%s\"", target, error ? error : "", sentence);
	if (parameter && (!named || strcmp(named, parameter) != 0))
		fail_msg("%s: names \"%s\", not \"%s\"", target, named ? named : "", parameter);
	json_decref(json);
}

static inline void raw(const char *text, int status)
{
	struct answer a;

	client_raw(http_port(http), text, strlen(text), &a);
	if (status ? a.status != status : a.status && a.status < 400)
		fail_msg("%.60s: status %d, not %d", text, a.status, status);
	buf_done(&a.body);
}

#define HOST "Host: localhost\r\n\r\n"

/* The server starts its own program anew to read symbol files. */
static inline bool is_symbols_worker(int argc, char **argv)
{
	return argc > 1 && !strcmp(argv[1], "symbols-worker");
}
