#pragma once
/*
 * The control socket of the collector that writes a data folder. Only that collector has links to
 * agents. It serves DIR/control.sock, and commands in other processes connect there.
 *
 * A connection carries one question, in lines of text. The question is one line of words. The
 * answer has any number of lines; the last begins with "ok", or with "no" and the reason. Lines and
 * connections are bounded. The collector's user and root may connect, which the kernel checks
 * (SO_PEERCRED); the socket's mode is 0600.
 *
 * The server runs on the caller's loop, in its thread; control_ask blocks.
 */
#include <stdbool.h>
#include <stddef.h>

#include <uv.h>

struct control;
struct control_client;
struct err_text;

#define CONTROL_SOCKET "control.sock"
#define CONTROL_LINE   2048 /* longest line, with its newline */
#define CONTROL_NOTE   128

/*
 * A question has arrived. The callee answers with control_say, at once or later, until it calls
 * control_end. After the callback has returned, the client may disconnect at any time, so it may
 * only be used within control_each.
 */
typedef void (*control_question)(void *context, struct control_client *client, const char *line);

/* Serves `folder`, whose lock the caller holds. Returns 0, or a negative errno with the reason. */
int control_open(uv_loop_t *loop, const char *folder, control_question question, void *context,
		 struct control **ret_control, struct err_text *err);
/* Changes how long a client may take for its question, and each time for reading on behind
 * control_end (5 s). */
void control_set_patience(struct control *control, unsigned ms);
/* Closes all connections. The memory is freed in later turns of the loop. NULL is allowed. */
void control_close(struct control *control);

/* Sends a line of the answer, without newline. A client that does not read is disconnected. */
void control_say(struct control_client *client, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Completes the answer. */
void control_end(struct control_client *client);
/* Returns CONTROL_NOTE bytes for the callee's use, zero at first. */
void *control_note(struct control_client *client);
/*
 * Calls `each` for every client that waits for an answer. The function may end the client that it
 * is given.
 */
void control_each(struct control *control,
		  void (*each)(void *context, struct control_client *client), void *context);

/* A client's connection, which reads an answer line by line. */
struct control_asking {
	int fd;
	size_t length;
	char in[CONTROL_LINE];
};
/* Returns 0 if a collector is at work in the folder, or the same errors as control_ask. */
int control_reach(const char *folder, struct err_text *err);
/* Returns the same errors as control_ask. */
int control_ask_begin(struct control_asking *asking, const char *folder, const char *question,
		      struct err_text *err);
/*
 * Reads the next line, with a timeout in milliseconds (-1: none). Returns 0 if more lines follow, 1
 * after the last line "ok", 2 after "no", -EAGAIN on timeout, or -EPROTO with the reason.
 */
int control_ask_line(struct control_asking *asking, int wait_ms, char line[CONTROL_LINE],
		     struct err_text *err);
void control_ask_end(struct control_asking *asking);
/*
 * Asks a question and passes each line of the answer to `line`, including the last. Returns 0 for
 * "ok", 1 for "no", -ENOENT if no collector serves this folder, -EACCES if it belongs to another
 * user, -EPROTO, or another negative errno. Errors come with the reason.
 */
int control_ask(const char *folder, const char *question,
		void (*line)(void *context, const char *line), void *context, struct err_text *err);
