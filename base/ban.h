#pragma once
/*
 * Functions that this code base does not call, because each has a safer replacement. Include this
 * file last. clang implements some of these functions as macros, so they are undefined first.
 */
#undef sprintf
#undef vsprintf
#undef strcpy
#undef strcat
#undef gets
#pragma GCC poison strcpy strcat sprintf vsprintf strtok gets atoi atol
