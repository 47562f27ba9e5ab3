#pragma once
/* A snapshot that is being taken, for the files of collector/snapshot only. */
#include <stdbool.h>
#include <stdint.h>

#include "collector/catalogue/store.h"
#include "collector/recording/stream_id.h"
#include "collector/snapshot/ask.h"
#include "collector/snapshot/merge.h"
#include "collector/snapshot/snapshot.h"

enum place_state {
	PLACE_ASKED,   /* nobody has replied */
	PLACE_MARKED,  /* its marker is on its way */
	PLACE_IN,      /* merged */
	PLACE_MISSING, /* and why is told */
	PLACE_LEFT,    /* has ended: nothing is in use there */
};

/* What is known of a member besides. */
struct place {
	enum place_state state;
	bool named;
	uint64_t replied_ns; /* since the beginning */
	uint32_t order;	     /* of the replies */
};

struct snapshot_taking {
	const struct snapshot_request *request;
	struct store *store;
	struct snapshot snapshot; /* its members beside `places` */
	struct place *places;
	uint32_t members_capacity, places_capacity, replies;
	struct stream_id *named;
	size_t named_count;
	struct snapshot_asking asking;
	bool asks, answered;
	uint64_t begun_ns; /* by the clock */
	struct new_stream *draft;
	struct merge *merge;
	bool sampled;		     /* somebody has blocks that stand for others */
	struct recording *recording; /* of the one that is being read */
	struct view *view;
};

/* members.c: who is meant. The name that it gets is found there, too. */
int members_list(struct snapshot_taking *taking, struct err_text *err);
int members_find_name(struct snapshot_taking *taking, struct err_text *err);
/* NULL: no memory. Members that were lent before are no longer valid. */
struct snapshot_member *members_add(struct snapshot_taking *taking, const struct stream_id *id);
struct snapshot_member *members_find(struct snapshot_taking *taking, const struct stream_id *id);
struct place *place_of(struct snapshot_taking *taking, const struct snapshot_member *member);
void member_set_text(char **text, const char *value);
void member_set_missing(struct snapshot_taking *taking, struct snapshot_member *member,
			const char *why);

/* look.c: merges what a member has at its marker, or tells why it is missing: 0. -EAGAIN: it is not
 * stored that far. */
int look_at_member(struct snapshot_taking *taking, struct snapshot_member *member,
		   struct err_text *err);
void look_end(struct snapshot_taking *taking);

/* Since the orders were given. */
uint64_t taking_ns(const struct snapshot_taking *taking);
