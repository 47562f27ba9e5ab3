#include "tests/bench/player_options.h"

#include <err.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/parse.h"

struct player_options wanted = {.agents = 100, .spread = 1, .speed = 1, .window = 256 << 10};

static void set_collectors(char *list)
{
	char host[64], *rest = list, *text;
	uint16_t port;

	while ((text = strsep(&rest, ","))) {
		if (wanted.collector_count == COLLECTORS_MAX ||
		    parse_endpoint(text, host, sizeof(host), &port) < 0 ||
		    uv_ip4_addr(host, port,
				(struct sockaddr_in *)&wanted.collectors[wanted.collector_count++]))
			errx(2, "--dial takes ADDRESS:PORT, or up to %d with commas between",
			     COLLECTORS_MAX);
	}
	wanted.dials = true;
}

const char *player_options(int argc, char **argv)
{
	static const struct option known[] = {
		{"agents", required_argument, NULL, 'n'},
		{"dial", required_argument, NULL, 'd'},
		{"announce", required_argument, NULL, 'a'},
		{"spread", required_argument, NULL, 's'},
		{"cut", required_argument, NULL, 'c'},
		{"window", required_argument, NULL, 'w'},
		{"for", required_argument, NULL, 'f'},
		{"stay", no_argument, NULL, 'y'},
		{"speed", required_argument, NULL, 'x'},
		{"cut-last", no_argument, NULL, 'l'},
		{0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (c) {
		case 'n':
			wanted.agents = (unsigned)atoi(optarg);
			break;
		case 'd':
			set_collectors(optarg);
			break;
		case 'a':
			wanted.port = (uint16_t)atoi(optarg);
			break;
		case 's':
			wanted.spread = atof(optarg);
			break;
		case 'c':
			wanted.cut = atof(optarg);
			break;
		case 'w':
			wanted.window = strtoull(optarg, NULL, 10);
			break;
		case 'f':
			wanted.seconds = atof(optarg);
			break;
		case 'l':
			wanted.cut_last = true;
			break;
		case 'y':
			wanted.stays = true;
			break;
		case 'x':
			wanted.speed = atof(optarg);
			break;
		default:
			exit(2);
		}
	}
	if (optind + 1 != argc || !wanted.agents || (!wanted.dials && !wanted.port))
		errx(2, "usage: bench-player RECORDING --agents N (--dial ADDRESS:PORT[,...] | "
			"--announce PORT) [OPTIONS]");
	return argv[optind];
}
