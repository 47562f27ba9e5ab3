#pragma once
/*
 * Supports service managers that speak systemd's protocols (sd_notify(3), sd_listen_fds(3)).
 * Reports that the agent is ready, reloads, stops or is alive, and takes sockets that the manager
 * has opened. Without a manager all functions do nothing.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/un.h>

struct err_text;

struct service {
	struct sockaddr_un address; /* the manager's socket; `length` 0: none */
	unsigned length;
	uint64_t watchdog_ns; /* the manager expects a sign of life this often; 0: never */
};

/* Sockets that the manager passed; -1: none. */
struct service_sockets {
	int programs;	/* Unix, SOCK_SEQPACKET */
	int collectors; /* TCP */
};

/* Reads NOTIFY_SOCKET and WATCHDOG_*, and removes them from the environment. */
void service_open(struct service *ret_service);
/* Sends lines NAME=VALUE, separated by newlines. Never blocks; drops the message if it can't be
 * sent. */
void service_tell(const struct service *service, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Reads LISTEN_FDS and removes it from the environment. Returns 0, or -EINVAL if a passed socket is
 * of the wrong kind, with the reason. */
int service_sockets(struct service_sockets *ret_sockets, struct err_text *err);
