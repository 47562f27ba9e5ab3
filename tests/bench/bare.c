/*
 * Sets probes whose programs do nothing, at the places and by the links that `agent attach` would
 * use (Linux 6.13):
 *
 *   bench-bare PID        says "bare", and stays until a signal ends it
 *
 * Nobody who probes these functions can cost less than this.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <linux/filter.h>

#include "agent/ebpf/multi.h"
#include "agent/ebpf/sites_survey.h"
#include "base/ban.h"

/* A session gives 1: its return is not wanted. */
static int load(enum multi_type type)
{
	const struct bpf_insn program[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = type == MULTI_SESSION},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options,
		    .expected_attach_type = (enum bpf_attach_type)type);

	return bpf_prog_load(BPF_PROG_TYPE_KPROBE, "heapcast_bare", "GPL", program,
			     sizeof(program) / sizeof(program[0]), &options);
}

int main(int argc, char **argv)
{
	pid_t pid = argc == 2 ? (pid_t)strtol(argv[1], NULL, 10) : 0;
	int session = load(MULTI_SESSION), plain = load(MULTI_UPROBES);
	struct sites_survey sites;

	if (pid <= 0 || session < 0 || plain < 0 || sites_survey_run(pid, &sites) < 0) {
		fprintf(stderr, "usage: bench-bare PID, as root, Linux 6.13\n");
		return 2;
	}
	for (size_t i = 0; i < sites.chosen; i++) {
		const struct site *site = sites.choice[i].site;
		bool returns = site->kind == SITE_ENTRY && site_returns(site->word);
		char path[600];
		struct multi_probe probe = {.program = returns ? session : plain,
					    .type = returns ? MULTI_SESSION : MULTI_UPROBES,
					    .path = path,
					    .offset = &site->offset,
					    .count = 1,
					    .pid = pid};

		snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid,
			 sites.module[sites.choice[i].module].path);
		if (multi_attach(&probe) < 0)
			fprintf(stderr, "bench-bare: no probe at %s\n", site->name);
	}
	sites_survey_done(&sites);
	puts("bare");
	fflush(stdout);
	pause();
	return 0;
}
