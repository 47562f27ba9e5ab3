#pragma once
/*
 * Settings that belong to one recorded program, by their names behind HEAPCAST_ or
 * MEMORY_PROFILER_. They travel with its ring_hello (proto/ring.h) and hold for it alone, so they
 * say nothing about which agent it gets: libheapcast.so leaves them out of the name of the agent
 * that it starts, and out of that agent's environment (agent/preload/start/settings.h). All others
 * shape an agent: its sockets and key, or how its memory is divided at the start.
 */
#define PROGRAM_SETTINGS(X)                                                                        \
	X("OUTPUT")                                                                                \
	X("CHOWN_OUTPUT_TO")                                                                       \
	X("MODE")                                                                                  \
	X("POLICY")                                                                                \
	X("BLOCK_MAX")                                                                             \
	X("FREE_STACKS")                                                                           \
	X("FULL_WALK")                                                                             \
	X("FOLLOW")                                                                                \
	X("GRAB_BACKTRACES_ON_FREE")                                                               \
	X("USE_SHADOW_STACK")                                                                      \
	X("TRACK_CHILD_PROCESSES")                                                                 \
	/* read by the library itself */                                                           \
	X("OFF")                                                                                   \
	X("FD")                                                                                    \
	X("SOCKET")                                                                                \
	X("PRELOAD")                                                                               \
	X("SAMPLE_SEED")                                                                           \
	X("DISABLE_BY_DEFAULT")                                                                    \
	X("REGISTER_SIGUSR1")                                                                      \
	X("REGISTER_SIGUSR2")                                                                      \
	X("ZERO_MEMORY")

/* Settings that are names of files: one that is relative means another file in another working
 * folder. */
#define FILE_SETTINGS(X)                                                                           \
	X("KEY")                                                                                   \
	X("CERT")                                                                                  \
	X("CERT_KEY")                                                                              \
	X("CA")                                                                                    \
	X("KEYS")                                                                                  \
	X("SPOOL")                                                                                 \
	X("LOGFILE")                                                                               \
	X("CONFIG")

/* Who has set one of these wants a recording. */
#define RECORDING_SETTINGS(X)                                                                      \
	X("OUTPUT")                                                                                \
	X("COLLECTOR")                                                                             \
	X("ANNOUNCE")                                                                              \
	X("LISTEN")                                                                                \
	X("MODE")                                                                                  \
	X("FOLLOW")                                                                                \
	X("MEMORY_LIMIT")
