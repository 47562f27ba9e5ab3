#pragma once
/* Opens the data base that collectors share. */

struct clickhouse;
struct clickhouse_url;
struct err_text;

/* Reads the URL, and the password that belongs to it. Returns 0, or -EINVAL or another negative
 * errno with a sentence. */
int shared_url(const char *text, struct clickhouse_url *ret_url, struct err_text *err);
/* Makes a client, and looks which servers there are; makes the tables if there are none. The caller
 * closes the client (clickhouse_close). */
int shared_open(const char *url, struct clickhouse **ret_client, struct err_text *err);
