#pragma once
/* What bench-player is asked for; the head of player.c says what the options mean. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define COLLECTORS_MAX 8

extern struct player_options {
	unsigned agents;
	struct sockaddr_storage collectors[COLLECTORS_MAX];
	unsigned collector_count;
	bool dials, stays, cut_last;
	uint16_t port;
	double spread, cut, seconds, speed;
	uint64_t window;
} wanted;

/* Reads them into `wanted`, and returns the recording's path. Ends the process where they are
 * wrong. */
const char *player_options(int argc, char **argv);
