#pragma once
/* Included last: names that code inside malloc of a foreign program must not use. */
#pragma GCC poison malloc calloc realloc free strdup printf fprintf snprintf vsnprintf abort exit
#pragma GCC poison dlopen dlsym dl_iterate_phdr pthread_mutex_lock pthread_once
