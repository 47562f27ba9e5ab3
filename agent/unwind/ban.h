#pragma once
/* Forbids functions that code inside the malloc of a foreign program must not call. Include this
 * file last. */
#pragma GCC poison malloc calloc realloc free strdup printf fprintf snprintf vsnprintf abort exit
#pragma GCC poison dlopen dlsym dl_iterate_phdr pthread_mutex_lock pthread_once
