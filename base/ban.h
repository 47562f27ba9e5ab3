#pragma once
/* Functions that nobody here may call. Included last; each has a safer neighbour. Some are macros
 * under clang. */
#undef sprintf
#undef vsprintf
#undef strcpy
#undef strcat
#undef gets
#pragma GCC poison strcpy strcat sprintf vsprintf strtok gets atoi atol
