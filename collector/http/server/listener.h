#pragma once
/* The socket on which connections come in. */
#include <stdbool.h>
#include <stdint.h>

struct err_text;

/* Listens there; ret_port is where (the one asked for, or a free one for 0), ret_loopback whether
 * only this machine reaches it. */
int listener_open(const char *address, uint16_t port, int *ret_fd, uint16_t *ret_port,
		  bool *ret_loopback, struct err_text *err);
