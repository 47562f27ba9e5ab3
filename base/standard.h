#pragma once
/*
 * Standard input, output and error of a program. Where one of them is closed, the next file or
 * socket that is opened would take its number: the log would be written into it, and libuv ends a
 * program that closes such a number.
 */

/*
 * Takes the numbers that are free. Reading and writing there still fail with EBADF, and programs
 * that are started find them closed, as they would without this one. To be called first in main.
 */
void standard_reserve(void);
