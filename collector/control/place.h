#pragma once
/* Where the socket is: a folder's path may be longer than an address of a socket. */
#include <sys/un.h>

/* Opens the folder, and writes an address that goes through the descriptor, which must stay open
 * while it is used. The descriptor or a negative errno. */
int control_place(const char *folder, struct sockaddr_un *ret_address);
