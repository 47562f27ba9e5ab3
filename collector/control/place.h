#pragma once
/* The socket's address. The path of a folder may be longer than a socket address allows. */
#include <sys/un.h>

/*
 * Opens the folder, and writes an address that leads through the descriptor, which must stay open
 * while the address is used. Returns the descriptor or a negative errno.
 */
int control_place(const char *folder, struct sockaddr_un *ret_address);
