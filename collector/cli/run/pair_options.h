#pragma once
/* The option for the folder of keys made by pairing. */
#include "collector/cli/command.h"

#define PAIRS_FOLDER "pairs" /* see pairs_place */

#define PAIRS_OPTION(type, field)                                                                  \
	OPTION_TEXT(type, field, "pairs", "DIR",                                                   \
		    "the folder of keys by pairing (as root /etc/heapcast/pairs, else "            \
		    "~/.config/heapcast/pairs; empty: none)")
