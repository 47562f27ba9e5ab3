#pragma once
/* The client, as the files of this folder share it. See client.h. */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "collector/clickhouse/client.h"
#include "collector/clickhouse/curl.h"

DEFINE_CLEANUP(clickhouse_close, struct clickhouse *)

struct clickhouse_server {
	CURL *handle;	/* keeps the connection; NULL until the server is first asked */
	unsigned major; /* of its version; 0: not known yet */
	size_t shard;	/* 0 is the first one; SHARD_UNKNOWN */
	char replica[CLICKHOUSE_NAME_MAX + 1]; /* its macro {replica} */
	bool ready;			       /* its tables are as schema.h wants them */
	uint64_t avoid_until_ns; /* others are asked before it: it could not be reached */
};

/* What a server calls the INSERT of a batch, while it runs. */
#define BATCH_PREFIX "heapcast-"
#define BATCH_QUERY  BATCH_PREFIX "%016" PRIx64

#define SHARD_UNKNOWN SIZE_MAX

struct clickhouse {
	const struct curl *curl;
	struct clickhouse_url url;
	struct curl_slist *headers, *form_headers; /* the latter where numbers travel beside */
	long connect_ms, all_ms;
	atomic_bool stopped;
	const atomic_bool *cancelled; /* clickhouse_set_cancelled; may be NULL */
	bool looks;		      /* nothing is made (clickhouse_set_looking) */
	int code;		      /* clickhouse_code */
	uint64_t batch;		      /* of INSERTs (clickhouse_set_batch); 0: none */
	size_t shards;		      /* 0: not known yet (shards.h) */
	size_t rows;		      /* servers that the cluster has */
	bool replicated;	      /* tables are Replicated*MergeTree */
	struct clickhouse_server servers[CLICKHOUSE_HOSTS_MAX];
};
