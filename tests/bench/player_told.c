#include "tests/bench/player_told.h"

#include <stdio.h>

struct told told;

void told_acknowledged(uint64_t took_ms)
{
	told.latency[took_ms < LATENCIES ? took_ms : LATENCIES - 1]++;
	told.latencies++;
	told.latency_most = took_ms > told.latency_most ? took_ms : told.latency_most;
}

static uint64_t latency(double share)
{
	uint64_t seen = 0, ms = 0;

	for (; ms < LATENCIES - 1; ms++) {
		seen += told.latency[ms];
		if ((double)seen >= share * (double)told.latencies)
			break;
	}
	return ms;
}

void told_report(unsigned agents, double seconds)
{
	printf("agents %u\nfound %u\nfound_seconds %.3f\nended %u\nrefused %u\nreconnects "
	       "%u\nevents %llu\n",
	       agents, told.found, (double)told.found_ms / 1000, told.ended, told.refused,
	       told.reconnects, (unsigned long long)told.events);
	printf("waits %llu\nwaited_ms_most %llu\n", (unsigned long long)told.waits,
	       (unsigned long long)told.waited_ms);
	printf("acknowledged_ms_median %llu\nacknowledged_ms_99 %llu\nacknowledged_ms_most %llu\n",
	       (unsigned long long)latency(0.5), (unsigned long long)latency(0.99),
	       (unsigned long long)told.latency_most);
	printf("seconds %.3f\n", seconds);
}
