#pragma once
/* What bench-player has seen; the head of player.c says what it prints. */
#include <stdint.h>

#define LATENCIES 65536 /* classes of 1 ms */

extern struct told {
	unsigned found, ended, reconnects, refused;
	uint64_t found_ms, events, waited_ms, waits, latencies, latency_most;
	uint64_t latency[LATENCIES];
} told;

/* A batch was acknowledged so long after it was sent. */
void told_acknowledged(uint64_t took_ms);
void told_report(unsigned agents, double seconds);
