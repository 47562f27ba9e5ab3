#pragma once
/* The subcommands, in the order of `collector help`. X(NAME) stands for `command_NAME`, in
 * NAME.c. */
#define COMMANDS(X)                                                                                \
	X(gather)                                                                                  \
	X(pair)                                                                                    \
	X(pairs)                                                                                   \
	X(list)                                                                                    \
	X(tag)                                                                                     \
	X(ledger)                                                                                  \
	X(report)                                                                                  \
	X(summary)                                                                                 \
	X(top)                                                                                     \
	X(leaks)                                                                                   \
	X(temporary)                                                                               \
	X(timeline)                                                                                \
	X(tree)                                                                                    \
	X(histogram)                                                                               \
	X(fleet)                                                                                   \
	X(diff)                                                                                    \
	X(maps)                                                                                    \
	X(sql)                                                                                     \
	X(flamegraph)                                                                              \
	X(export)                                                                                  \
	X(import)                                                                                  \
	X(import_worker)                                                                           \
	X(extract)                                                                                 \
	X(strip)                                                                                   \
	X(pack)                                                                                    \
	X(decompress)                                                                              \
	X(analyze)                                                                                 \
	X(ctl)                                                                                     \
	X(snapshot)                                                                                \
	X(share)                                                                                   \
	X(serve)                                                                                   \
	X(page)                                                                                    \
	X(symbols)                                                                                 \
	X(symbols_worker)                                                                          \
	X(symbols_fetch)                                                                           \
	X(json_schema)

#include "collector/cli/command.h"

#define X(name) extern const struct command command_##name;
COMMANDS(X)
#undef X
