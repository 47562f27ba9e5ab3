/* Implements the plain and the TLS transport. See link_io.h. */
#include "agent/net/link_io.h"

#include <errno.h>
#include <string.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/ban.h"

static bool is_patience(int error)
{
	return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

static ssize_t link_io_bytes_of(ssize_t n)
{
	if (n >= 0)
		return n;
	return is_patience(errno) ? 0 : -errno;
}

/* Reads from the socket once. */
static ssize_t link_io_take(int fd, void *data, size_t size)
{
	ssize_t n = recv(fd, data, size, MSG_DONTWAIT);

	return n == 0 && size ? -ENODATA : link_io_bytes_of(n);
}

bool link_io_waits(const struct link_io *io)
{
	size_t length = 0;

	if (io->session)
		secure_output(io->session, &length);
	return length > 0;
}

static ssize_t put(struct link_io *io, const void *data, size_t length)
{
	ssize_t n = link_io_bytes_of(send(io->fd, data, length, MSG_NOSIGNAL | MSG_DONTWAIT));

	io->sent += n > 0 ? (uint64_t)n : 0;
	return n;
}

uint64_t link_io_arrived(const struct link_io *io, uint64_t *ret_queued)
{
	int queued = 0;

	if (ioctl(io->fd, SIOCOUTQ, &queued) < 0)
		queued = 0;
	*ret_queued = (uint64_t)queued;
	return io->sent - *ret_queued;
}

int link_io_flush(struct link_io *io)
{
	size_t length = 0;
	ssize_t n = 1;

	while (io->session && n > 0) {
		const uint8_t *data = secure_output(io->session, &length);

		if (!length)
			return 0;
		n = put(io, data, length);
		if (n > 0)
			secure_sent(io->session, (size_t)n);
	}
	return n < 0 ? (int)n : length > 0;
}

/* Reads the socket into `raw`. TLS must have consumed `raw` before. */
static ssize_t read_raw(struct link_io *io)
{
	ssize_t n = link_io_take(io->fd, io->raw, sizeof(io->raw));

	io->raw_at = 0;
	io->raw_length = n > 0 ? (size_t)n : 0;
	return n;
}

static void feed(struct link_io *io)
{
	secure_feed(io->session, io->raw + io->raw_at, io->raw_length - io->raw_at);
}

/* Lets TLS process the data. The session knows how much of it is left. */
static int shake_once(struct link_io *io, struct err_text *err)
{
	int r, flushed;

	do {
		r = secure_shake(io->session, err);
		flushed = link_io_flush(io);
	} while (r == 1 && flushed == 0 && secure_blocked(io->session));
	return r < 0 ? r : flushed < 0 ? flushed : r;
}

int link_io_shake(struct link_io *io, bool readable, size_t *came, struct err_text *err)
{
	ssize_t n;
	int r;

	if (io->raw_length > io->raw_at && !secure_rest(io->session))
		feed(io);
	r = shake_once(io, err);
	io->raw_at = io->raw_length - secure_rest(io->session);
	if (r != 1 || !readable || secure_rest(io->session))
		return r;
	n = read_raw(io);
	if (n <= 0)
		return n ? (int)n : 1;
	*came += (size_t)n;
	feed(io);
	r = shake_once(io, err);
	io->raw_at = io->raw_length - secure_rest(io->session);
	return r;
}

void link_io_move(struct link_io *to, struct link_io *from)
{
	*to = *from;
	if (to->session)
		feed(to);
	*from = (struct link_io){.fd = -1};
}

ssize_t link_io_send(struct link_io *io, const void *data, size_t length)
{
	ssize_t n;
	int r;

	if (!io->session)
		return put(io, data, length);
	r = link_io_flush(io);
	if (r)
		return r < 0 ? r : 0;
	n = secure_write(io->session, data, length);
	r = link_io_flush(io);
	return r < 0 ? r : n;
}

ssize_t link_io_send_file(struct link_io *io, int fd, off_t offset, size_t length)
{
	uint8_t piece[SECURE_RECORD];
	ssize_t n;

	if (!io->session) {
		n = sendfile(io->fd, fd, &offset, length);
		io->sent += n > 0 ? (uint64_t)n : 0;
		return n ? link_io_bytes_of(n) : -EIO;
	}
	n = link_io_flush(io);
	if (n)
		return n < 0 ? n : 0;
	n = pread(fd, piece, length < sizeof(piece) ? length : sizeof(piece), offset);
	if (n <= 0)
		return n ? -errno : -EIO;
	return link_io_send(io, piece, (size_t)n);
}

static ssize_t receive_plain(struct link_io *io, void *data, size_t size, bool fresh)
{
	size_t rest = io->raw_length - io->raw_at, n = rest < size ? rest : size;

	if (!rest)
		return fresh ? link_io_take(io->fd, data, size) : 0;
	memcpy(data, io->raw + io->raw_at, n);
	io->raw_at += n;
	return (ssize_t)n;
}

ssize_t link_io_receive(struct link_io *io, void *data, size_t size, bool fresh,
			struct err_text *err)
{
	ssize_t n, came;

	if (!io->session)
		return receive_plain(io, data, size, fresh);
	n = secure_read(io->session, data, size, err);
	if (n || !fresh)
		return n;
	came = read_raw(io);
	if (came <= 0)
		return came;
	feed(io);
	return secure_read(io->session, data, size, err);
}

void link_io_close(struct link_io *io)
{
	if (io->session) {
		secure_bye(io->session);
		link_io_flush(io);
		secure_session_free(io->session);
	}
	if (io->fd >= 0)
		close(io->fd);
	*io = (struct link_io){.fd = -1};
}
