#pragma once
/* Opens the data base that collectors share. */

#include <stdatomic.h>
#include <stdint.h>

struct clickhouse;
struct clickhouse_url;
struct err_text;

/* Reads the URL, and the password that belongs to it. Returns 0, or -EINVAL or another negative
 * errno with a sentence. */
int shared_url(const char *text, struct clickhouse_url *ret_url, struct err_text *err);
/* Makes a client for questions, and looks which servers there are. Nothing is made: a data base
 * without our tables is -ENOENT. Questions end soon once `cancelled` (may be NULL) becomes true,
 * and wait for a server that hangs for QUESTION_MS at most. The caller closes the client
 * (clickhouse_close). */
#define QUESTION_MS 20000
#define LOOK_UP_MS  3000 /* for what somebody waits for who asked about something else */
int shared_open(const char *url, const atomic_bool *cancelled, struct clickhouse **ret_client,
		struct err_text *err);
/* The same with another time that a question waits. */
int shared_open_for(const char *url, uint64_t question_ms, const atomic_bool *cancelled,
		    struct clickhouse **ret_client, struct err_text *err);
