#pragma once
/* The socket that accepts connections. */
#include <stdbool.h>
#include <stdint.h>

struct err_text;

/* Listens on `address` and `port`. `ret_port` receives the port in use (a free port if `port` is
 * 0), `ret_loopback` whether only this machine reaches the socket. */
int listener_open(const char *address, uint16_t port, int *ret_fd, uint16_t *ret_port,
		  bool *ret_loopback, struct err_text *err);
