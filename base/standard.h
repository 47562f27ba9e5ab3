#pragma once
/*
 * Standard input, output and error of a program. If one of them is closed, the next file or socket
 * that is opened takes its number. The log would then be written into that file, and libuv aborts a
 * program that closes one of these numbers.
 */

/*
 * Occupies those of the descriptors 0 to 2 that are closed. Reads and writes on them still fail
 * with EBADF, and child programs find them closed. main calls this first.
 */
void standard_reserve(void);
