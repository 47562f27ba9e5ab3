#pragma once
/*
 * What a link's bytes go through: a socket, or TLS on it. Nothing here blocks; a socket that takes
 * no more is polled by the caller.
 *
 *   plain:  send, sendfile -> socket socket -> raw (what came with a greeting) -> link
 *   TLS:    4 KiB -> a record, kept until it has left -> socket   socket -> raw -> records -> link
 *
 * A record that was made is as good as sent: what is asked to be sent next may be something else.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/secure/secure.h"

struct err_text;

#define LINK_RAW 1024 /* bytes that are read ahead: a collector's greeting has less */

struct link_io {
	int fd;				/* -1: none */
	struct secure_session *session; /* NULL: plain */
	size_t raw_at, raw_length;
	uint8_t raw[LINK_RAW];
};

/* Goes on with the handshake of TLS, with what has come and, if `readable`, what the socket has.
 * Counts bytes that come in `came`. 0: done; 1: not yet; negative: refused, with a sentence;
 * -ENODATA: the other side has closed. */
int link_io_shake(struct link_io *io, bool readable, size_t *came, struct err_text *err);
/* The same, in another place. */
void link_io_move(struct link_io *to, struct link_io *from);
/* All of these: bytes; 0: no room now; a negative errno. -EIO: somebody has cut the file. */
ssize_t link_io_send(struct link_io *io, const void *data, size_t length);
ssize_t link_io_send_file(struct link_io *io, int fd, off_t offset, size_t length);
/* Bytes; 0: there are no more now; -ENODATA: the other side has closed; another negative errno,
 * with a sentence or without. The socket is read if `fresh`, else only what was read before: to be
 * called until it returns 0. */
ssize_t link_io_receive(struct link_io *io, void *data, size_t size, bool fresh,
			struct err_text *err);
/* Does something wait to leave, that was taken by link_io_send? */
bool link_io_waits(const struct link_io *io);
/* Sends what waits. 1: some still does; 0; a negative errno. */
int link_io_flush(struct link_io *io);
/* Says farewell and closes. */
void link_io_close(struct link_io *io);
