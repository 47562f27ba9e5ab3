#pragma once
/* Shared by `top`, `temporary` and `leaks`: call sites or backtraces, sorted by a value. */
#include "collector/cli/ask/kind.h"

/* Reads --by. Returns an exit status. */
int ranking_grouping(const struct command *command, const char *by, enum grouping *ret_grouping);

struct told_ranking {
	struct groups groups;
	enum grouping grouping;
	uint64_t at_ns;
};

extern const struct answer ranking_answer; /* describes struct told_ranking */
int ranking_ask(struct question *question, struct err_text *err);
/* Does the same for temporary blocks (freed before their thread allocated again), most blocks
 * first. */
int ranking_ask_temporary(struct question *question, struct err_text *err);
int ranking_print(struct question *question);
void ranking_done(void *result);
#define RANKING_ASKS(asks)                                                                         \
	ASKED(struct told_ranking, asks, ranking_print, &ranking_answer, ranking_done),            \
		.tells_value = true, .tells_notes = true, .tells_hidden = true

/* --map OLD=NEW of commands that compare: modules and functions of the base that have another name
 * now. */
#define RENAMED_MAX 16
#define OPTION_MAP                                                                                 \
	OPTION_LIST(struct question_options, map, "map", "OLD=NEW",                                \
		    "the program, library or function OLD of the base is called NEW now; may be "  \
		    "given more than once. A renamed program is found without")

/* Reads the option into `ret_renamed`, one element per text. Returns EXIT_DONE, or another exit
 * status after an error message. */
int ranking_renamed(const struct command *command, const struct option_list *list,
		    struct diff_renamed ret_renamed[RENAMED_MAX]);
