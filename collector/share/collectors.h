#pragma once
/* The collectors that share a data base. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clickhouse;
struct err_text;

struct shared_collector {
	uint64_t number;    /* in each stream's row */
	char *name;	    /* of its host */
	char *address;	    /* of its page, for others; "": it has none */
	uint32_t keep_days; /* how many days it wants to be kept; 0: all */
	uint64_t seen_ns;   /* when it sent last, since the epoch, by the server's clock */
	uint64_t asked_ns;  /* when the list was asked for, by the same clock */
};

/* Without a sign for so long, a collector is away. */
#define COLLECTOR_AWAY_NS 180000000000u
/* So often it gives one. */
#define COLLECTOR_SIGN_NS 60000000000u

/* Reads the clock of a server of the shard, in ns since the epoch. What collectors say of time is
 * by this clock: their own may be wrong, each in its way. */
int shared_clock(struct clickhouse *client, size_t shard, uint64_t *ret_ns, struct err_text *err);
/* Writes the collector's row, on the shard that has it. Returns 0 or an error of client.h. */
int collector_put(struct clickhouse *client, const struct shared_collector *collector,
		  struct err_text *err);
/* Lists all, by number. The caller frees the list with shared_collectors_free. */
int shared_collectors(struct clickhouse *client, struct shared_collector **ret_list,
		      size_t *ret_count, struct err_text *err);
void shared_collectors_free(struct shared_collector *list, size_t count);
/* Returns since when it was away when the list was asked for, in ns since the epoch; 0: it was
 * there. */
uint64_t shared_collector_away_since(const struct shared_collector *collector);
/* Tells whether the text can be the address of a page, "https://desk1:8443" or with a path. Others
 * put it into links and headers. It ends without a slash. */
#define COLLECTOR_ADDRESS_MAX 255
bool collector_address_is_valid(const char *address);
/* Returns the collector of that number, or NULL. */
const struct shared_collector *shared_collector_find(const struct shared_collector *list,
						     size_t count, uint64_t number);
