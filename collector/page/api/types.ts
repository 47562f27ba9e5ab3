// Answers of the REST API (docs/rest-api.md), as far as the page reads them.

export interface Time {
	secs: number;
	fract_nsecs: number;
}

export interface Sum {
	bytes: number;
	blocks: number;
	/** Half the width of the interval that holds the truth in 95 of 100 samples; only of sampled recordings. */
	bytes_error?: number;
	blocks_error?: number;
}

export type StreamState = 'live' | 'ended' | 'interrupted';

export interface Stream {
	id: string;
	name: string;
	executable: string;
	cmdline: string;
	architecture: string;
	host?: string;
	pid?: number;
	state: StreamState;
	incomplete?: string;
	timestamp: Time;
	runtime: Time;
	final_allocated: number;
	final_allocated_count: number;
	events?: number;
	recording_bytes?: number;
	events_per_second?: number;
	unique_backtrace_count?: number;
	watched_from_start?: boolean;
	watched_to_end?: boolean;
}

export interface Changes {
	incomplete?: string;
	changed: Stream[];
	gone: string[];
}

export interface Report {
	incomplete?: string;
	allocated: Sum;
	temporary: Sum;
	leaked: Sum;
	peak: Sum;
	peak_ns: number;
	allocations: number;
	frees: number;
	reallocations: number;
	failed: number;
	distinct_backtraces: number;
	threads: number;
	modules: number;
}

export interface Band {
	name: string;
	function?: string;
	file?: string;
	line?: number;
	module?: string;
	backtrace_id?: number;
	most: number;
	allocated_size?: number[];
	allocated_count?: number[];
}

export interface Timeline {
	start_ns: number[];
	width_ns: number;
	end_ns: number;
	allocated_size: number[];
	allocated_size_min: number[];
	allocated_count: number[];
	allocated_count_min: number[];
	allocations: number[];
	deallocations: number[];
	allocations_size: number[];
	series?: Band[];
}

export interface Site {
	function?: string | null;
	file?: string | null;
	line?: number | null;
	module?: string | null;
	backtrace_id: number;
	value: Sum;
	allocated: Sum;
	leaked: Sum;
	temporary: Sum;
	min_size: number;
	max_size: number;
	first_ns: number;
	last_ns: number;
}

export interface Sites {
	total: Sum;
	group_count: number;
	groups: Site[];
}

/** A tree of frames, as columns. Nodes are in preorder, sums are those of a node and all below it. */
export interface Flame {
	incomplete?: string;
	total: Sum;
	base_total?: Sum;
	cut: number;
	strings: string[];
	frames: { function: number[]; file: number[]; line: number[]; module: number[]; inline: number[] };
	nodes: { depth: number[]; frame: number[]; bytes: number[]; blocks: number[]; base_bytes?: number[]; base_blocks?: number[] };
}

export interface Frame {
	address: number;
	address_s: string;
	library?: string;
	function?: string;
	source?: string;
	line?: number;
	is_inline: boolean;
}

/** Of some blocks: of those of a backtrace that match, or of all with that backtrace. */
export interface GroupSums {
	size: number;
	allocated_count: number;
	leaked_count: number;
	min_size: number;
	max_size: number;
	min_timestamp_relative: Time;
	max_timestamp_relative: Time;
	interval: Time;
}

export interface AllocationGroup {
	all: GroupSums & { max_total_usage_first_seen_at_relative: Time; culled_count?: number };
	only_matched: GroupSums;
	backtrace_id: number;
	backtrace: Frame[];
}

export interface AllocationGroups {
	allocations: AllocationGroup[];
	total_count: number;
}

export interface Deallocation {
	timestamp: Time;
	thread?: number;
	backtrace_id?: number;
	backtrace?: Frame[];
}

export interface Allocation {
	/** Its number in the order of birth, from 0. */
	id: number;
	address: number;
	address_s: string;
	size: number;
	/** The bytes that it stands for, if it was sampled. */
	weight?: number;
	timestamp: Time;
	timestamp_relative: Time;
	thread: number; // tid
	backtrace_id: number;
	backtrace: Frame[];
	deallocation?: Deallocation;
	chain_deallocation?: Deallocation;
	chain_lifetime?: Time;
	position_in_chain: number;
	chain_length: number;
	is_mmaped?: boolean;
	in_main_arena?: boolean;
	is_jemalloc?: boolean;
}

export interface Allocations {
	allocations: Allocation[];
	total_count: number;
}

export interface Leak {
	function?: string | null;
	file?: string | null;
	line?: number | null;
	module?: string | null;
	backtrace_id: number;
	suspect_bytes: number;
	value: Sum;
	old: Sum;
	young: Sum;
	allocated: Sum;
	whole_group_leaked: boolean;
	age_min_ns: number;
	age_max_ns: number;
	longest_lifetime_ns?: number;
}

export interface Leaks {
	total: Sum;
	old: Sum;
	young: Sum;
	suspect_bytes: number;
	young_ns: number;
	group_count: number;
	groups: Leak[];
}

export interface SizeClass {
	size_min: number;
	size_max: number; // included
	allocated: Sum;
	leaked: Sum;
}

export interface LifetimeClass {
	lifetime_min_ns: number;
	/** Included; of the last class absent. */
	lifetime_max_ns?: number;
	allocated: Sum;
}

export interface Histogram {
	total: Sum;
	sizes: SizeClass[];
	/** Of what was freed. */
	lifetimes: LifetimeClass[];
	leaked: Sum;
	end_unknown: Sum;
}

export interface DiffGroup {
	function?: string;
	file?: string;
	line?: number;
	module?: string;
	backtrace_id?: number;
	base_backtrace_id?: number;
	kind: 'added' | 'removed' | 'changed';
	bytes: number;
	blocks: number;
	base?: Sum;
	new?: Sum;
}

export interface Diff {
	base: Sum;
	new: Sum;
	bytes: number;
	blocks: number;
	added_bytes: number;
	removed_bytes: number;
	grown_bytes: number;
	shrunk_bytes: number;
	groups: DiffGroup[];
}

export interface Gap {
	thread: number;
	events: number;
	bytes: number;
	from_ns: number;
	to_ns: number;
	reason: string;
}

export interface State {
	state: string;
	thread: number;
	time_ns: number;
	what: string;
	by?: string;
}

export interface Ledger {
	incomplete?: string;
	adds_up: boolean;
	reason: string | null;
	complete: boolean;
	lines: { name: string; text: string; value: number }[];
	threads: { number: number; tid: number; name: string; produced: number; stored: number; lost: number }[];
	gaps: Gap[];
	states: State[];
	unrecorded_children: { name: string; pid: number; counted: boolean; events: number; bytes: number }[];
	end: { how: string } | null;
}

export interface Finding {
	kind: 'site' | 'traces' | 'subsystem' | 'no-subsystem' | 'repeated' | 'growth' | 'growth-site';
	name: string | null;
	headline: string;
	text: string;
}

export interface Analysis {
	findings: Finding[];
	subsystems: { name: string; value: number; percent: number }[];
}

/** What the kernel counts of the process; `xs` in ms since the epoch. */
export interface ProcessFigures {
	xs: number[];
	rss: number[];
	anonymous: number[];
	swap: number[];
}

export interface Rows {
	columns: string[];
	rows: Record<string, string | number | null>[];
	row_count: number;
	cut: boolean;
}

export function nanoseconds(time: Time): number {
	return time.secs * 1e9 + time.fract_nsecs;
}
