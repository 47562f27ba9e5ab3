#pragma once
/*
 * The transport of a link: a socket, or TLS on a socket. No function blocks. If the socket is full,
 * the caller polls it.
 *
 *    plain:  send, sendfile -> socket                            socket -> raw (greeting) -> link
 *    TLS:    4 KiB -> a record, kept until it is sent -> socket  socket -> raw -> records -> link
 *
 * A record that was made counts as sent: the next call may send other data.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/secure/secure.h"

struct err_text;

#define LINK_RAW 1024 /* bytes that are read ahead; a collector's greeting is shorter */

struct link_io {
	int fd;				/* -1: none */
	struct secure_session *session; /* NULL: no TLS */
	size_t raw_at, raw_length;
	uint64_t sent; /* bytes that the socket has taken */
	uint8_t raw[LINK_RAW];
};

/* Continues the TLS handshake with the data that has arrived and, if `readable`, with what the
 * socket has. Adds the bytes read to *came. Returns 0 when it is done, 1 if not yet, -ENODATA if
 * the other side has closed the connection, or another negative errno with the reason. */
int link_io_shake(struct link_io *io, bool readable, size_t *came, struct err_text *err);
/* Moves the transport to another place. */
void link_io_move(struct link_io *to, struct link_io *from);
/* Both send data and return the number of bytes, 0 if the socket is full, or a negative errno.
 * -EIO: the file was truncated. */
ssize_t link_io_send(struct link_io *io, const void *data, size_t length);
ssize_t link_io_send_file(struct link_io *io, int fd, off_t offset, size_t length);
/* Receives data. If `fresh`, reads the socket. Otherwise returns only data that was read before;
 * call it until it returns 0. Returns the number of bytes, 0 if there are no more now, -ENODATA if
 * the other side has closed the connection, or another negative errno, with or without the
 * reason. */
ssize_t link_io_receive(struct link_io *io, void *data, size_t size, bool fresh,
			struct err_text *err);
/* Returns true if data that link_io_send has taken still waits to be sent. */
bool link_io_waits(const struct link_io *io);
/* Returns how many bytes the other side has received; *ret_queued: those that are on the way. */
uint64_t link_io_arrived(const struct link_io *io, uint64_t *ret_queued);
/* Sends waiting data. Returns 1 if some still waits, 0 if none does, or a negative errno. */
int link_io_flush(struct link_io *io);
/* Ends the TLS session and closes the socket. */
void link_io_close(struct link_io *io);
