#pragma once
/*
 * Orders to the collector that writes a data folder: it alone has links to agents. It serves
 * DIR/control.sock; commands of other processes ask there.
 *
 * One question a connection, in lines of text. The question is one line of words; the answer any
 * number of lines, of which the last begins with "ok" or "no" (and why). Lines are bounded, and so
 * are connections. Who may ask: the user that the collector runs as, and root, as the kernel says
 * (SO_PEERCRED); the socket's mode says the same (0600).
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
#define CONTROL_LINE   2048 /* longest, with its newline */
#define CONTROL_NOTE   128

/* A question has come. It is answered by control_say, at once or later; `client` may be used until
 * control_end, within control_each only once the function has returned. */
typedef void (*control_question)(void *context, struct control_client *client, const char *line);

/* Serves `folder`, whose lock the caller holds. 0, or a negative errno with the reason. */
int control_open(uv_loop_t *loop, const char *folder, control_question question, void *context,
		 struct control **ret_control, struct err_text *err);
/* Ends all connections; what there is of it is freed by the loop's next turns. NULL is fine. */
void control_close(struct control *control);

/* A line of the answer, without newline. One who does not read is let go. */
void control_say(struct control_client *client, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The answer is complete. */
void control_end(struct control_client *client);
/* Room for the one who answers: CONTROL_NOTE bytes, zero at first. */
void *control_note(struct control_client *client);
/* Those that wait for an answer. The function may end the one that it is given. */
void control_each(struct control *control,
		  void (*each)(void *context, struct control_client *client), void *context);

/* Asking, a line of the answer after the other. */
struct control_asking {
	int fd;
	size_t length;
	char in[CONTROL_LINE];
};
/* Errors as control_ask. */
int control_ask_begin(struct control_asking *asking, const char *folder, const char *question,
		      struct err_text *err);
/* The next line, waited for so long (-1: without an end). 0: there are more; 1: it was the last,
 * "ok"; 2: "no"; -EAGAIN: none yet; -EPROTO with the reason. */
int control_ask_line(struct control_asking *asking, int wait_ms, char line[CONTROL_LINE],
		     struct err_text *err);
void control_ask_end(struct control_asking *asking);
/* Asks, and hands each line of the answer to `line` (the last one, too). 0: "ok"; 1: "no"; -ENOENT:
 * no collector serves this folder; -EACCES: it is another user's; -EPROTO; others: with the
 * reason. */
int control_ask(const char *folder, const char *question,
		void (*line)(void *context, const char *line), void *context, struct err_text *err);
