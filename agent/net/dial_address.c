/* Orders the addresses of collectors, and keeps what is known of them. See dial_address.h. */
#include "agent/net/dial_address.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/ban.h"

/* Every agent hashes in the same way, so that its order is the same after each start. */
static const struct hash_key order_key = {{0x6865617063617374, 0x636f6c6c6563746f}};

bool dial_address_numeric(const struct sockaddr_storage *at, char host[NI_MAXHOST],
			  char port[NI_MAXSERV])
{
	return !getnameinfo((const struct sockaddr *)at, sizeof(*at), host, NI_MAXHOST, port,
			    port ? NI_MAXSERV : 0, NI_NUMERICHOST | NI_NUMERICSERV);
}

size_t dial_address_text(const struct sockaddr_storage *at, char out[DIAL_NAME])
{
	char host[NI_MAXHOST], port[NI_MAXSERV];
	int n = dial_address_numeric(at, host, port) ? snprintf(out, DIAL_NAME, "%s %s", host, port)
						     : 0;

	return n > 0 && n < DIAL_NAME ? (size_t)n : 0;
}

static uint64_t weight_of(uint64_t agent, const struct sockaddr_storage *at)
{
	char address[DIAL_NAME], text[DIAL_NAME + 24];
	int n = dial_address_text(at, address) ? snprintf(text, sizeof(text), "%016llx %s",
							  (unsigned long long)agent, address)
					       : 0;

	return hash_bytes(&order_key, text, (size_t)n);
}

static int by_weight(const void *a, const void *b)
{
	const struct dial_address *x = a, *y = b;

	return (x->weight < y->weight) - (x->weight > y->weight);
}

unsigned dial_addresses_order(uint64_t agent, struct dial_address *addresses, unsigned count)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < count; i++)
		addresses[i].weight = weight_of(agent, &addresses[i].at);
	qsort(addresses, count, sizeof(*addresses), by_weight);
	for (unsigned i = 0; i < count; i++)
		if (!kept || addresses[i].weight != addresses[kept - 1].weight)
			addresses[kept++] = addresses[i];
	return kept;
}

void dial_addresses_keep(struct dial_address *fresh, unsigned count,
			 const struct dial_address *before, unsigned count_before)
{
	for (unsigned i = 0; i < count; i++)
		for (unsigned k = 0; k < count_before; k++)
			if (before[k].weight == fresh[i].weight) {
				fresh[i].off = before[k].off;
				fresh[i].wait = before[k].wait;
				fresh[i].full = before[k].full;
			}
}

void dial_address_put_off(struct dial_address *a)
{
	a->wait = a->wait ? 2 * a->wait : DIAL_OFF;
	if (a->wait > DIAL_OFF_MOST)
		a->wait = DIAL_OFF_MOST;
	a->off = a->wait;
	a->full = true;
}

void dial_address_unanswered(struct dial_address *a)
{
	if (a->off < DIAL_OFF)
		a->off = DIAL_OFF;
}

void dial_address_put_on(struct dial_address *a)
{
	a->off = a->wait = 0;
	a->full = false;
}

void dial_addresses_tick(struct dial_address *a, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (a[i].off && !--a[i].off)
			a[i].full = false;
}

unsigned dial_addresses_least(const struct dial_address *a, unsigned count)
{
	unsigned best = count;

	for (unsigned i = 0; i < count; i++)
		if (a[i].full && (best == count || a[i].off < a[best].off))
			best = i;
	return best;
}
