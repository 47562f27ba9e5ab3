#pragma once
/* Limits for SQL statements on a server that has other clients, too. */
#include "collector/http/server/route.h"
#include "collector/sql/sql.h"

exchange_step sql_step;
extern const struct route_parameter sql_parameters[];
extern const struct answer sql_answer;

/* Limited because other statements wait for their turn, and the recording is not refreshed
 * meanwhile. */
#define HTTP_SQL_TIME_NS	  60000000000ull
#define HTTP_SQL_ROWS		  100000
#define HTTP_SQL_ANSWER_BYTES_MAX (64u << 20)

static inline struct sql_limits http_sql_limits(const atomic_bool *cancelled,
						struct progress *progress)
{
	return (struct sql_limits){.time_ns = HTTP_SQL_TIME_NS,
				   .memory_bytes = 128ull << 20,
				   .temp_bytes = 1ull << 30,
				   .rows = HTTP_SQL_ROWS,
				   .cancelled = cancelled,
				   .progress = progress};
}
