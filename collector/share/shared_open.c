/* Opens the data base that collectors share. See shared_open.h. */
#include "collector/share/shared_open.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/clickhouse/client.h"
#include "collector/clickhouse/shards.h"

#include "base/ban.h"

#define CONNECT_MS 3000

int shared_url(const char *text, struct clickhouse_url *ret_url, struct err_text *err)
{
	int r = clickhouse_url_parse(text, ret_url, err);

	return r ? r : clickhouse_url_password(ret_url, getenv(CLICKHOUSE_PASSWORD_VARIABLE), err);
}

int shared_open(const char *text, const atomic_bool *cancelled, struct clickhouse **ret_client,
		struct err_text *err)
{
	return shared_open_for(text, QUESTION_MS, cancelled, ret_client, err);
}

int shared_open_for(const char *text, uint64_t question_ms, const atomic_bool *cancelled,
		    struct clickhouse **ret_client, struct err_text *err)
{
	cleanup(clickhouse_url_clear) struct clickhouse_url url;
	struct clickhouse *client = NULL;
	int r = shared_url(text, &url, err);

	if (!r)
		r = clickhouse_open(&url, &client, err);
	if (!r) {
		clickhouse_set_looking(client);
		clickhouse_set_cancelled(client, cancelled);
		clickhouse_set_patience(client, question_ms < CONNECT_MS ? question_ms : CONNECT_MS,
					question_ms);
		r = clickhouse_prepare(client, err);
	}
	if (r < 0) {
		clickhouse_close(client);
		return r;
	}
	*ret_client = client;
	return 0;
}
