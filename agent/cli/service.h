#pragma once
/*
 * The agent under a service manager that speaks systemd's protocols (sd_notify(3),
 * sd_listen_fds(3)): tells that it is ready, reloads, stops and lives, and takes sockets that the
 * manager listens on already. Without one all of it does nothing.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/un.h>

struct err_text;

struct service {
	struct sockaddr_un address; /* where the manager hears; `length` 0: nowhere */
	unsigned length;
	uint64_t watchdog_ns; /* it wants a sign of life this often; 0: none */
};

/* Sockets that were passed; -1: none. */
struct service_sockets {
	int programs;	/* Unix, SOCK_SEQPACKET */
	int collectors; /* TCP */
};

/* Reads NOTIFY_SOCKET and WATCHDOG_*, and takes them out of the environment. */
void service_open(struct service *ret_service);
/* Lines of NAME=VALUE, parted by newlines. Never blocks; what can't be sent is not. */
void service_tell(const struct service *service, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Reads LISTEN_FDS and takes it out of the environment. 0; -EINVAL with what is wrong with the
 * sockets that were passed. */
int service_sockets(struct service_sockets *ret_sockets, struct err_text *err);
