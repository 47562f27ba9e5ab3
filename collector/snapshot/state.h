#pragma once
/* A snapshot in progress; private to collector/snapshot. */
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "collector/catalogue/store.h"
#include "collector/recording/stream_id.h"
#include "collector/snapshot/ask.h"
#include "collector/snapshot/merge.h"
#include "collector/snapshot/snapshot.h"

enum place_state {
	PLACE_ASKED,   /* no reply yet */
	PLACE_MARKED,  /* its marker is not stored yet */
	PLACE_LATE,    /* missing, with a reason, and may still join */
	PLACE_IN,      /* merged */
	PLACE_MISSING, /* missing, with a reason */
	PLACE_LEFT,    /* has ended: nothing is in use */
};

/* Further state of a member. */
struct place {
	enum place_state state;
	bool named;
	uint64_t replied_ns; /* time of its reply, since the beginning */
	uint32_t order;	     /* its reply's number in the order of arrival */
};

/* A stream that is being read. */
struct look {
	struct recording *recording; /* NULL: it could not be opened */
	struct view *view;
	struct gathered gathered;
	bool gathers; /* it is stored beyond its marker, and `gathered` was tried */
	int error;
	struct err_text why;
};

struct snapshot_taking {
	const struct snapshot_request *request;
	struct store *store;
	struct snapshot snapshot; /* its members are parallel to `places` */
	struct place *places;
	uint32_t members_capacity, places_capacity, replies;
	struct stream_id *named;
	size_t named_count;
	struct snapshot_asking asking;
	bool asks, answered;
	uint64_t begun_ns;	/* when the orders were sent, by the monotonic clock */
	uint64_t begun_wall_ns; /* the same since the epoch */
	uint64_t looked_ns;	/* when late streams were looked at last */
	struct new_stream *draft;
	struct merge *merge;
	bool sampled;	  /* a member has sampled blocks */
	struct look look; /* at the member that is waited for */
	bool waits;	  /* there is one */
};

/* Defined in members.c. members_list finds the members; members_find_name, the snapshot's name. */
int members_list(struct snapshot_taking *taking, struct err_text *err);
int members_find_name(struct snapshot_taking *taking, struct err_text *err);
/* Returns NULL if memory is short. Pointers to members are invalid afterwards. */
struct snapshot_member *members_add(struct snapshot_taking *taking, const struct stream_id *id);
struct snapshot_member *members_find(struct snapshot_taking *taking, const struct stream_id *id);
struct place *place_of(struct snapshot_taking *taking, const struct snapshot_member *member);
void member_set_text(char **text, const char *value);
void member_set_missing(struct snapshot_taking *taking, struct snapshot_member *member,
			const char *why);

/*
 * Defined in look.c. Merges what members have at their markers, in this order, or records why they
 * are missing, and returns 0. Several threads read them; at most twice as many streams are open.
 * Returns -EAGAIN if one is not stored that far; those before it are done.
 */
int look_at_members(struct snapshot_taking *taking, const uint32_t *members, unsigned count,
		    struct err_text *err);
/* Looks at a stream that may join late. Returns 0, also if it can't join yet. */
int look_at_late(struct snapshot_taking *taking, struct snapshot_member *member,
		 struct err_text *err);
void look_end(struct snapshot_taking *taking);

/* Returns the time since the orders were sent. */
uint64_t taking_ns(const struct snapshot_taking *taking);
