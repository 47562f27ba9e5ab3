#pragma once
/* Functions that nobody here may call. Included last; each has a safer neighbour. */
#pragma GCC poison strcpy strcat sprintf vsprintf strtok gets atoi atol
