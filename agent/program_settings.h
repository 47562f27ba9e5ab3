#pragma once
/*
 * Settings that concern one recorded program, by their names without HEAPCAST_ or MEMORY_PROFILER_.
 * They travel with the program's ring_hello (proto/ring.h) and hold for this program alone. They do
 * not influence which agent the program gets: libheapcast.so omits them from the name of the agent
 * that it starts, and from the environment of that agent (agent/preload/start/settings.h). All
 * other settings shape an agent: its sockets, its key, or how it divides its memory at the start.
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

/* Settings that are file names: a relative name means another file in another working directory. */
#define FILE_SETTINGS(X)                                                                           \
	X("KEY")                                                                                   \
	X("CERT")                                                                                  \
	X("CERT_KEY")                                                                              \
	X("CA")                                                                                    \
	X("KEYS")                                                                                  \
	X("SPOOL")                                                                                 \
	X("LOGFILE")                                                                               \
	X("CONFIG")

/* If one of these is set, the user wants a recording. */
#define RECORDING_SETTINGS(X)                                                                      \
	X("OUTPUT")                                                                                \
	X("COLLECTOR")                                                                             \
	X("ANNOUNCE")                                                                              \
	X("LISTEN")                                                                                \
	X("MODE")                                                                                  \
	X("FOLLOW")                                                                                \
	X("MEMORY_LIMIT")
