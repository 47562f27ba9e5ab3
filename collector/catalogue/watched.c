/* Which part of a program's life a recording covers. watched.h describes the interface. */
#include "collector/catalogue/watched.h"

#include "collector/recording/info.h"
#include "heapcast.pb-c.h"

bool watched_left(const struct process_info *p)
{
	return p->ended && !p->origin.imported && p->end_kind == HEAPCAST__END_KIND__END_DETACHED;
}

bool watched_whole(const struct process_info *p)
{
	return !p->ran_before_ns && !watched_left(p);
}

const char *watched_unfreed(const struct process_info *p)
{
	return watched_whole(p) ? "never freed" : "not freed while watched";
}
