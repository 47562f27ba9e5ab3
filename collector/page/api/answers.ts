// Written by api/generate.mjs from what the collector says of its answers (/openapi.json): not to be edited.
// After a change of the collector's: collector/page/api/update BUILD

export interface Recording {
	/** 32 hexadecimal digits. */
	id: string;
	/** What people call the program. */
	name: string;
	/** Path of the program. */
	executable: string;
	/** Arguments, joined by blanks. */
	cmdline: string;
	/** As in uname -m. */
	architecture: string;
	/** In use at the end, or as far as the recording goes (bytes). */
	final_allocated: number;
	/** In use at the end, or as far as the recording goes (blocks). */
	final_allocated_count: number;
	/** How long was recorded (duration). */
	runtime: Time;
	/** That allocated; absent until it has been opened, as the next three (backtraces). */
	unique_backtrace_count?: number;
	/** Inlined ones not counted (frames). */
	maximum_backtrace_depth?: number;
	/** False: it had run before. */
	watched_from_start?: boolean;
	/** False: its end was not seen. */
	watched_to_end?: boolean;
	/** When recording began (since the epoch). */
	timestamp: Time;
	host: string;
	/** 0: no program was recorded here, it was imported. */
	pid: number;
	/** Interrupted: no end was recorded and nobody writes to it. */
	state: 'live' | 'ended' | 'interrupted';
	/** Of a fleet: what was in use at a moment. */
	is_snapshot: boolean;
	/** That have come so far (events). */
	events: number;
	/** Of /events alone: since the look before (events/s). */
	events_per_second?: number;
	/** On the disk (bytes). */
	recording_bytes: number;
	/** What it does not hold, in a sentence. */
	incomplete?: string;
}

export interface Time {
	/** s. */
	secs: number;
	/** ns. */
	fract_nsecs: number;
}

export interface Recordings {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	/** In the first event all, then those that are new or have changed. */
	changed: Recording[];
	/** Ids of those that were removed. */
	gone: string[];
}

export interface Question {
	/** As it was asked for, without parameters. */
	path: string;
	/** Waiting: for a thread; sending: so far. */
	state: 'waiting' | 'running' | 'sending';
	/** Since it was asked (s). */
	seconds: number;
	/** That were looked at (blocks of 65,536 allocations). */
	blocks_done: number;
	/** To be looked at in all passes that have begun (blocks of 65,536 allocations). */
	blocks: number;
	/** Its connection was closed: it ends soon. */
	cancelled: boolean;
}

export interface FleetSnapshot {
	name: string;
	/** Of its recording. */
	id: string | null;
	/** When it was begun (ns since the epoch). */
	wall_ns: number;
	/** To the last marker (ns). */
	took_ns: number;
	/** Between the first and the last marker, by the hosts' clocks (ns). */
	clock_spread_ns: number;
	/** Of all. */
	in_use: Usage;
	processes: SnapshotProcess[];
	missing: SnapshotMissing[];
}

export interface Usage {
	/** Estimated where sampled (bytes). */
	bytes: number;
	/** Estimated where sampled (blocks). */
	blocks: number;
	/** Half width of the 95 % interval (bytes). */
	bytes_error?: number;
	/** Half width of the 95 % interval (blocks). */
	blocks_error?: number;
	/** That stand for others, too (blocks). */
	samples?: number;
}

export interface SnapshotProcess {
	/** Id of its recording. */
	stream: string;
	host: string;
	executable: string;
	pid: number;
	/** Of the program. */
	build_id: string | null;
	in_use: Usage;
	/** Number of the marker. */
	mark: number;
	/** Of the marker, since its start (ns). */
	time_ns: number;
	/** The same by its host's clock (ns since the epoch). */
	wall_ns: number;
}

export interface SnapshotMissing {
	/** Id of its recording. */
	stream: string;
	host: string;
	executable: string;
	pid: number;
	why: string;
	/** When it was heard of last (ns since the epoch). */
	last_wall_ns: number;
}

export interface Imported {
	/** Its name. */
	file: string;
	/** Of the recording, for /data/ID. */
	id: string;
	/** Heapcast: it was a recording already. */
	format: string;
	/** That wrote it; empty: not known. */
	tool: string;
	/** What to know of the numbers; empty: nothing. */
	note: string;
	/** That came (events). */
	events: number;
}

export interface Rights {
	/** May give orders, import files and read sources. */
	orders: boolean;
	/** Why not, and what to bring. */
	why?: string;
	/** Came by the cookie of the login page: POST /logout ends it. */
	login: boolean;
	/** A data folder is served, into which files can be imported. */
	data: boolean;
	/** That a file may have now (bytes). */
	import_bytes: number;
}

export interface Openapi {
	/** The version of OpenAPI. */
	openapi: string;
	info: OpenapiInfo;
	/** By path: OpenAPI 3.1, 4.8.9. */
	paths: Record<string, unknown>;
	components: OpenapiComponents;
}

export interface OpenapiInfo {
	/** Of the API. */
	title: string;
	/** Of the API, not of the collector. */
	version: string;
}

export interface OpenapiComponents {
	/** By name: OpenAPI 3.1, 4.8.27. */
	securitySchemes: Record<string, unknown>;
	/** Of answers, by name: JSON Schema, draft 2020-12. */
	schemas: Record<string, unknown>;
}

export interface Allocations {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	allocations: Allocation[];
	/** That match (blocks). */
	total_count: number;
}

export interface Allocation {
	/** Its number in the order of birth, from 0 (id). */
	id: number;
	/** address. */
	address: number;
	/** 16 hexadecimal digits. */
	address_s: string;
	/** When the allocator had returned (since the epoch). */
	timestamp: Time;
	/** When the allocator had returned (since the start). */
	timestamp_relative: Time;
	/** Part of the recording (part). */
	timestamp_relative_p: number;
	/** That allocated; 0: unknown (tid). */
	thread: number;
	/** That the program asked for (bytes). */
	size: number;
	/** That it stands for, if it was sampled (bytes). */
	weight?: number;
	/** Not recorded: 0 (bytes). */
	extra_space: number;
	/** 0: there is none (id). */
	backtrace_id: number;
	/** Glibc gave it a mapping of its own. */
	is_mmaped?: boolean;
	/** Of glibc's, or mapped. */
	in_main_arena?: boolean;
	/** It came from libjemalloc. */
	is_jemalloc?: boolean;
	/** Absent: not freed. */
	deallocation?: Death;
	/** Of the last block of its reallocs. */
	chain_deallocation?: Death;
	/** The outermost frame first. */
	backtrace: Frame[];
	/** Absent: the chain goes on (duration). */
	chain_lifetime?: Time;
	/** Of reallocs before it (blocks). */
	position_in_chain: number;
	/** 1: realloc never touched it (blocks). */
	chain_length: number;
}

export interface Death {
	/** since the epoch. */
	timestamp: Time;
	/** That freed it; 0: unknown (tid). */
	thread: number;
	/** id. */
	backtrace_id?: number;
	/** The outermost frame first. */
	backtrace?: Frame[];
}

export interface Frame {
	/** Return address; 0 of a frame that is none (address). */
	address: number;
	/** 16 hexadecimal digits. */
	address_s: string;
	/** Of the whole recording, whose backtrace passes through this place (blocks). */
	count: number;
	/** Absent: code that was made at run time. */
	library?: string;
	/** Demangled, or in brackets what a frame stands for. */
	function?: string;
	/** Without template arguments and parameters; absent: the same. */
	function_short?: string;
	/** As in the file. */
	raw_function?: string;
	/** File. */
	source?: string;
	line?: number;
	column?: number;
	/** Inlined into the frame before it. */
	is_inline: boolean;
}

export interface AllocationGroups {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	/** The groups. */
	allocations: AllocationGroup[];
	/** That match (groups). */
	total_count: number;
}

export interface AllocationGroup {
	/** Every block of the backtrace. */
	all: AllSide;
	/** Those that match. */
	only_matched: MatchedSide;
	/** 0: without a backtrace (id). */
	backtrace_id: number;
	/** The outermost frame first. */
	backtrace: Frame[];
}

export interface AllSide {
	/** Asked for (bytes). */
	size: number;
	/** Of one block (bytes). */
	min_size: number;
	/** Of one block (bytes). */
	max_size: number;
	/** First allocation (since the epoch). */
	min_timestamp: Time;
	/** First allocation (since the start). */
	min_timestamp_relative: Time;
	/** Part of the recording (part). */
	min_timestamp_relative_p: number;
	/** Last allocation (since the epoch). */
	max_timestamp: Time;
	/** Last allocation (since the start). */
	max_timestamp_relative: Time;
	/** Part of the recording (part). */
	max_timestamp_relative_p: number;
	/** Between these (duration). */
	interval: Time;
	/** Never freed (blocks). */
	leaked_count: number;
	/** blocks. */
	allocated_count: number;
	/** When most of its bytes were in use first (since the epoch). */
	max_total_usage_first_seen_at: Time;
	/** When most of its bytes were in use first (since the start). */
	max_total_usage_first_seen_at_relative: Time;
	/** Part of the recording (part). */
	max_total_usage_first_seen_at_relative_p: number;
	/** In no other number here (blocks). */
	culled_count?: number;
	/** In no other number here (bytes). */
	culled_size?: number;
	/** A picture, with generate_graphs. */
	graph_url?: string;
	/** A small one. */
	graph_preview_url?: string;
}

export interface MatchedSide {
	/** Asked for (bytes). */
	size: number;
	/** Of one block (bytes). */
	min_size: number;
	/** Of one block (bytes). */
	max_size: number;
	/** First allocation (since the epoch). */
	min_timestamp: Time;
	/** First allocation (since the start). */
	min_timestamp_relative: Time;
	/** Part of the recording (part). */
	min_timestamp_relative_p: number;
	/** Last allocation (since the epoch). */
	max_timestamp: Time;
	/** Last allocation (since the start). */
	max_timestamp_relative: Time;
	/** Part of the recording (part). */
	max_timestamp_relative_p: number;
	/** Between these (duration). */
	interval: Time;
	/** Never freed (blocks). */
	leaked_count: number;
	/** blocks. */
	allocated_count: number;
	/** A picture, with generate_graphs. */
	graph_url?: string;
	/** A small one. */
	graph_preview_url?: string;
}

export interface TreeNode {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	/** With that of all children (bytes). */
	size: number;
	/** Likewise (blocks). */
	count: number;
	/** When the first was allocated (since the epoch). */
	first: Time;
	/** And the last (since the epoch). */
	last: Time;
	/** Absent: the root. */
	value?: Frame;
	/** What this frame called. */
	children: TreeNode[];
}

export interface Flame {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	/** Of all. */
	total: Usage;
	/** Of the base. */
	base_total?: Usage;
	/** That were left out (nodes). */
	cut: number;
	/** The first is empty. */
	strings: string[];
	/** Of each string: a function without template arguments and parameters; empty: the same. */
	short: string[];
	/** Arrays, a value a frame. */
	frames: FlameFrames;
	/** Arrays, a value a node, parents before children. */
	nodes: FlameNodes;
}

export interface FlameFrames {
	/** Of strings (index). */
	function: number[];
	/** Of strings; 0: unknown (index). */
	file: number[];
	/** 0: unknown. */
	line: number[];
	/** Of strings; 0: unknown (index). */
	module: number[];
	/** 1: inlined into its parent. */
	inline: number[];
}

export interface FlameNodes {
	/** 0: the root (frames). */
	depth: number[];
	/** Of frames; -1: the root (index). */
	frame: number[];
	/** Of it and all below (bytes). */
	bytes: number[];
	/** Of it and all below (blocks). */
	blocks: number[];
	/** Of it and all below (bytes). */
	base_bytes?: number[];
	/** Of it and all below (blocks). */
	base_blocks?: number[];
}

export interface Backtrace {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	/** The outermost first, inlined ones among them. */
	frames: Frame[];
}

export interface Backtraces {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	/** Of each its frames, the outermost first. */
	backtraces: Frame[][];
	/** That match (backtraces). */
	total_count: number;
}

export interface Timeline {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	/** Where the point begins (ms since the epoch). */
	xs: number[];
	/** From its start to its end (bytes). */
	size_delta: number[];
	/** From its start to its end (blocks). */
	count_delta: number[];
	/** Most in use at any moment of it (bytes). */
	allocated_size: number[];
	/** Most in use at any moment of it (blocks). */
	allocated_count: number[];
	/** Births in it (blocks). */
	allocations: number[];
	/** Deaths in it (blocks). */
	deallocations: number[];
	/** Where it begins, since the start (ns). */
	start_ns: number[];
	/** Least in use (bytes). */
	allocated_size_min: number[];
	/** Least in use (blocks). */
	allocated_count_min: number[];
	/** In use at its end (bytes). */
	allocated_size_last: number[];
	/** In use at its end (blocks). */
	allocated_count_last: number[];
	/** Born in it (bytes). */
	allocations_size: number[];
	/** That died in it (bytes). */
	deallocations_size: number[];
	/** Of each point; the last may be cut short (ns). */
	width_ns: number;
	/** Where the last one ends, since the start (ns). */
	end_ns: number;
	/** Bands, the largest first. */
	series?: Series[];
}

export interface Series {
	/** Of a group, of a filter, or of the rest. */
	name: string;
	/** Of a group; null: unknown. */
	function?: string | null;
	/** Without template arguments and parameters; absent: the same. */
	function_short?: string;
	/** Null: unknown. */
	file?: string | null;
	/** 0: unknown. */
	line?: number;
	/** Null: unknown. */
	module?: string | null;
	/** Of a group by backtrace (id). */
	backtrace_id?: number;
	/** Of its values (bytes or blocks). */
	most: number;
	/** A value a point; with weight=bytes (bytes). */
	allocated_size?: number[];
	/** A value a point; with weight=blocks (blocks). */
	allocated_count?: number[];
}

export interface Histogram {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	/** Which of the matched blocks count. */
	value: string;
	/** Of all. */
	total: Usage;
	/** Classes double. */
	sizes: SizeClass[];
	/** Of blocks that were freed. */
	lifetimes: LifetimeClass[];
	/** Not freed by the end. */
	leaked: Usage;
	/** Nobody saw their end: a loss, an exec. */
	end_unknown: Usage;
}

export interface SizeClass {
	/** bytes. */
	size_min: number;
	/** Included (bytes). */
	size_max?: number;
	/** All blocks of these sizes. */
	allocated: Usage;
	/** Those that were not freed. */
	leaked: Usage;
}

export interface LifetimeClass {
	/** ns. */
	lifetime_min_ns: number;
	/** Included (ns). */
	lifetime_max_ns?: number;
	/** Blocks that lived so long. */
	allocated: Usage;
}

export interface Moment {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	/** The moment (since the epoch). */
	timestamp: Time;
	/** The moment (since the start). */
	timestamp_relative: Time;
	/** Part of the recording (part). */
	timestamp_relative_p: number;
	/** The moment, since the start (ns). */
	at_ns: number;
	/** Of all groups. */
	total: Usage;
	/** How many there are (groups). */
	group_count: number;
	/** The heaviest first. */
	groups: Group[];
}

export interface Group {
	/** Null: unknown. */
	function: string | null;
	/** Without template arguments and parameters; absent: the same. */
	function_short?: string;
	/** Null: unknown. */
	file: string | null;
	/** 0: unknown. */
	line: number;
	/** Path of the program or library; null: unknown. */
	module: string | null;
	/** Of the heaviest backtrace (id). */
	backtrace_id: number;
	/** What was asked for. */
	value: Usage;
	/** All blocks. */
	allocated: Usage;
	/** Not freed by the end. */
	leaked: Usage;
	/** Freed. */
	temporary: Usage;
	/** Of one block (bytes). */
	min_size: number;
	/** Of one block (bytes). */
	max_size: number;
	/** First allocation, since the start (ns). */
	first_ns: number;
	/** Last allocation, since the start (ns). */
	last_ns: number;
}

export interface LeaksAndSuppressed {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	/** Not freed by the end. */
	total: Usage;
	/** Of those. */
	old: Usage;
	/** Of those: recent ones. */
	young: Usage;
	/** By survival (bytes). */
	suspect_bytes: number;
	/** Younger blocks are recent (ns). */
	young_ns: number;
	/** How many there are (groups). */
	group_count: number;
	/** Most suspect bytes first. */
	groups: Leak[];
	/** What suppressions left out. */
	suppressed: Suppressed;
}

export interface Leak {
	/** Null: unknown. */
	function: string | null;
	/** Without template arguments and parameters; absent: the same. */
	function_short?: string;
	/** Null: unknown. */
	file: string | null;
	/** 0: unknown. */
	line: number;
	/** Path of the program or library; null: unknown. */
	module: string | null;
	/** Of its biggest block in use (id). */
	backtrace_id: number;
	/** By survival (bytes). */
	suspect_bytes: number;
	/** Not freed by the end. */
	value: Usage;
	/** Of those. */
	old: Usage;
	/** Of those: recent ones. */
	young: Usage;
	/** All blocks. */
	allocated: Usage;
	/** None of the site was freed. */
	whole_group_leaked: boolean;
	/** Of those not freed (ns). */
	age_min_ns: number;
	/** Of those not freed (ns). */
	age_max_ns: number;
	/** Of those freed (ns). */
	longest_lifetime_ns?: number;
}

export interface Suppressed {
	/** Left out of the answer. */
	total: Usage;
	/** Those that were used. */
	patterns: SuppressedBy[];
}

export interface SuppressedBy {
	/** As it stands behind leak:. */
	pattern: string;
	/** What it is, of one that is built in. */
	built_in?: string;
	/** What it suppressed. */
	value: Usage;
}

export interface Report {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	/** All blocks. */
	allocated: Usage;
	/** Freed. */
	temporary: Usage;
	/** Not freed by the end. */
	leaked: Usage;
	/** The most that was in use. */
	peak: Usage;
	/** When that was first, since the start (ns). */
	peak_ns: number;
	/** Blocks that the agent sent in sums, which are in allocated and temporary. */
	culled: Usage;
	/** Those of which sums can't tell what a filter asks, which are in no number. */
	culled_left_out: Usage;
	/** Estimated where sampled (blocks). */
	allocations: number;
	/** Estimated where sampled (blocks). */
	frees: number;
	/** As far as they were recorded (events). */
	reallocations: number;
	/** Allocations that failed (events). */
	failed: number;
	/** That allocated (backtraces). */
	distinct_backtraces: number;
	/** threads. */
	threads: number;
	/** Programs and libraries (modules). */
	modules: number;
}

export interface Hidden {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	/** How many functions are hidden. */
	hidden_count: number;
	/** Wrappers first, then those known by name; of each those in most backtraces first. */
	hidden: HiddenFunction[];
}

export interface HiddenFunction {
	function: string;
	/** Without template arguments and parameters; absent: the same. */
	function_short?: string;
	/** Path of the program or library. */
	module?: string;
	/** Found by what passes through it; false: by a rule. */
	is_wrapper: boolean;
	/** Different ones in which it is left out (backtraces). */
	backtraces: number;
}

export interface Diff {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	/** What the base has. */
	base: Usage;
	/** What the new recording has. */
	new: Usage;
	/** New - base (bytes). */
	bytes: number;
	/** New - base (blocks). */
	blocks: number;
	/** Of groups that only the new recording has (bytes). */
	added_bytes: number;
	/** Of groups that only the new recording has (blocks). */
	added_blocks: number;
	/** Of groups that only the base has (bytes). */
	removed_bytes: number;
	/** Of groups that only the base has (blocks). */
	removed_blocks: number;
	/** Of groups that both have (bytes). */
	grown_bytes: number;
	/** Of groups that both have (bytes). */
	shrunk_bytes: number;
	/** groups. */
	added_count: number;
	/** groups. */
	removed_count: number;
	/** groups. */
	changed_count: number;
	/** Without a difference, left out (groups). */
	same_count: number;
	/** The largest difference first. */
	groups: DiffGroup[];
}

export interface DiffGroup {
	/** Null: unknown. */
	function: string | null;
	/** Without template arguments and parameters; absent: the same. */
	function_short?: string;
	/** Null: unknown. */
	file: string | null;
	/** 0: unknown. */
	line: number;
	/** Path of the program or library; null: unknown. */
	module: string | null;
	/** Of the base (id). */
	base_backtrace_id?: number;
	/** Of the new recording (id). */
	backtrace_id?: number;
	/** Which side has it. */
	kind: 'added' | 'removed' | 'changed';
	/** New - base (bytes). */
	bytes: number;
	/** New - base (blocks). */
	blocks: number;
	/** Half width of the 95 % interval (bytes). */
	bytes_error?: number;
	/** What the base has. */
	base: Usage;
	/** What the new recording has. */
	new: Usage;
}

export interface Ledger {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	/** 32 hexadecimal digits. */
	id: string;
	/** Id of the recording that it was forked from. */
	parent?: string;
	/** Number of the event there, at which it was forked. */
	parent_event?: number;
	/** What was produced was stored, or is accounted for. */
	adds_up: boolean;
	/** Why not; null: it does. */
	reason: string | null;
	/** Nothing is missing of what was to be recorded. */
	complete: boolean;
	/** What is, of which no other number tells. */
	missing: Missing;
	/** How long it had run when it was joined (ns). */
	ran_before_ns: number;
	/** Produced by the program (events). */
	produced: number;
	/** Delivered by the agent (events). */
	delivered: number;
	/** Short-lived (kept as sums). */
	culled: number;
	/** Not sampled (events). */
	not_sampled: number;
	/** Lost (events). */
	lost: number;
	/** Pending at the agent (events). */
	pending: number;
	/** Stored here (events). */
	stored: number;
	/** Allocations. */
	stored_allocations: number;
	/** Reallocations. */
	stored_reallocations: number;
	/** Frees. */
	stored_frees: number;
	/** Mappings, pools, settings (events). */
	stored_apart: number;
	/** Before the collector joined (events). */
	before_join: number;
	/** Before the recording began (events). */
	before_recording: number;
	/** The program has not begun to record (events). */
	not_begun: number;
	/** Children not recorded. */
	unrecorded: number;
	/** Events of them, counted (events). */
	unrecorded_events: number;
	/** Bytes allocated in these (bytes). */
	unrecorded_bytes: number;
	/** Children that nobody counted. */
	unrecorded_uncounted: number;
	/** Short-lived, and not in the sums here. */
	culled_missed: number;
	/** Missed (too slow, or away too long) (events). */
	missed: number;
	/** Lost allocations. */
	lost_allocations: number;
	/** Lost frees. */
	lost_frees: number;
	/** Lost bytes (bytes). */
	lost_bytes: number;
	/** Samples without room (set full). */
	samples_refused: number;
	/** Stacks cut (table full). */
	stacks_cut: number;
	/** Stacks cut (loader busy). */
	stacks_unknown: number;
	/** Missing batches. */
	missing_batches: number;
	/** Batches that came twice. */
	duplicate_batches: number;
	/** Bytes after the last whole frame (bytes). */
	cut_bytes: number;
	/** Damaged bytes skipped (bytes). */
	skipped_bytes: number;
	/** Damaged places. */
	damaged_places: number;
	/** Marks beyond the first million. */
	marks_left_out: number;
	/** Frees of unrecorded blocks. */
	orphan_frees: number;
	/** Frees of the parent's blocks. */
	inherited_frees: number;
	/** Ends inferred (address came again). */
	inferred: number;
	/** Orders of time overruled. */
	repaired: number;
	/** Blocks of unknown fate (gaps). */
	censored: number;
	/** Allocations that failed. */
	failed: number;
	/** Events without a definition. */
	bad_references: number;
	/** The numbers above, as `collector ledger` prints them. */
	lines: AccountLine[];
	threads: AccountThread[];
	/** Where events of a thread are missing. */
	gaps: Gap[];
	/** Processes that are in no recording. */
	unrecorded_children: UnrecordedChild[];
	/** How it was recorded from when on. */
	states: RecordingState[];
	/** Of the program; null: not seen. */
	end: ProgramEnd | null;
}

export interface Missing {
	/** That never came (events). */
	lost_events: number;
	/** Of them, as far as they are known (bytes). */
	lost_bytes: number;
	/** Of those: calls that threads were in when they were killed (events). */
	unfinished_events: number;
	/** Of short-lived blocks, whose sums never came (events). */
	culled_events: number;
	/** Before the collector joined (events). */
	start_events: number;
	/** Of the loader, whose malloc was not recorded. */
	namespaces: number;
	/** Nobody writes it any more, and it has no end. */
	tail_unknown: boolean;
	/** That the agent had in hand when it last spoke (events). */
	tail_events: number;
	damaged_places: number;
	/** Skipped (bytes). */
	damaged_bytes: number;
	/** After the last whole frame (bytes). */
	cut_bytes: number;
	/** That never came. */
	batches: number;
	/** That came once, and are gone by damage (events). */
	damage_events: number;
	/** Counted, but without a row (blocks). */
	rowless_allocations: number;
	/** Of them (bytes). */
	rowless_bytes: number;
}

export interface AccountLine {
	/** Of the member that has the number, too. */
	name: string;
	/** Two blanks in front: a part of the line before. */
	text: string;
	value: number;
}

export interface AccountThread {
	/** From 1, in the order in which they were seen. */
	number: number;
	/** tid. */
	tid: number;
	/** Empty: unknown. */
	name: string;
	/** By the program (events). */
	produced: number;
	/** By the agent (events). */
	delivered: number;
	/** events. */
	lost: number;
	/** In the recording (events). */
	stored: number;
	/** Short-lived blocks, which are only counted (events). */
	culled: number;
}

export interface Gap {
	/** Its number; 0: unknown. */
	thread: number;
	/** Number of the thread's first event that is missing. */
	from: number;
	/** Number of the first that is there again. */
	to: number;
	/** That are missing (events). */
	events: number;
	/** Of them (events). */
	allocations: number;
	/** Of them (events). */
	frees: number;
	/** Of these allocations (bytes). */
	bytes: number;
	/** When it began, since the start (ns). */
	from_ns: number;
	/** When it ended, since the start (ns). */
	to_ns: number;
	/** Why they are missing. */
	reason: 'unknown' | 'ring full' | 'no slice' | 'spool full' | 'thread died in a record' | 'agent was gone' | 'damaged record' | 'joined late' | 'thinned' | 'no result';
}

export interface UnrecordedChild {
	/** Of the process. */
	name: string;
	pid: number;
	/** False: nothing more is known. */
	counted: boolean;
	/** events. */
	events: number;
	/** events. */
	allocations: number;
	/** events. */
	frees: number;
	/** Allocated (bytes). */
	bytes: number;
}

export interface RecordingState {
	/** Thinned, waited, suspended, exec, delivery, started, stopped, mode, snapshot or text. */
	state: string;
	/** Its number; 0: the agent's. */
	thread: number;
	/** From when on, since the start (ns). */
	time_ns: number;
	/** The same in words. */
	what: string;
	/** Interval of samples, time or number, by the state. */
	value: number;
	/** That somebody gave it. */
	text?: string;
	/** Who ordered it. */
	by?: string;
}

export interface ProgramEnd {
	/** In words. */
	how: string;
	/** Detached: it goes on. */
	kind: 'unknown' | 'exited' | 'signalled' | 'oom_killed' | 'detached';
	/** What it exited with, or the signal's number. */
	status: number;
	core_dumped: boolean;
	/** Who says so. */
	source: 'unknown' | 'wait' | 'pidfd' | 'proc';
	/** Whose count of kills for lack of memory rose. */
	oom_counter: 'none' | 'cgroup_2' | 'cgroup_1' | 'system';
}

export interface Analysis {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	/** The recording, as it was asked for. */
	source: string;
	/** That it was judged by. */
	rules: string;
	/** Of all values. */
	unit: 'bytes' | 'blocks';
	/** Of all (bytes or blocks). */
	total: number;
	/** It was more than can be counted. */
	total_capped: boolean;
	/** Of all (blocks). */
	blocks?: number;
	/** backtraces. */
	stack_traces: number;
	/** In these. */
	functions: number;
	/** Allocations of containers that grew. */
	grown: number;
	/** What was left out; null: nothing. */
	note: string | null;
	/** The heaviest backtraces. */
	top: AnalysisTrace[];
	/** Where backtraces begin. */
	outermost: AnalysisFunctions;
	/** Where they end. */
	innermost: AnalysisFunctions;
	/** Who called what allocated, noise left out. */
	callers: AnalysisFunctions;
	/** The heaviest first. */
	subsystems: Subsystem[];
	/** What stands out. */
	findings: Finding[];
	/** What to ask next. */
	next: Next[];
}

export interface AnalysisTrace {
	/** bytes or blocks. */
	value: number;
	/** Of the total. */
	percent: number;
	/** blocks. */
	blocks?: number;
	/** Null: none. */
	subsystem: string | null;
	/** The frames that tell most, in a line. */
	brief: string;
	/** The innermost first. */
	frames: AnalysisFrame[];
}

export interface AnalysisFrame {
	name: string;
	/** The rules say that it explains nothing. */
	noise: boolean;
}

export interface AnalysisFunctions {
	/** How many there are. */
	count: number;
	/** The heaviest. */
	functions: AnalysisFunction[];
}

export interface AnalysisFunction {
	function: string;
	/** bytes or blocks. */
	value: number;
	/** Of the total. */
	percent: number;
	/** That it is in (backtraces). */
	traces: number;
	/** Allocations of containers that grew. */
	grown: number;
}

export interface Subsystem {
	/** Null: none of them. */
	name: string | null;
	/** bytes or blocks. */
	value: number;
	/** Of the total. */
	percent: number;
	/** That it is in (backtraces). */
	traces: number;
}

export interface Finding {
	/** What was found. */
	kind: 'site' | 'traces' | 'subsystem' | 'no-subsystem' | 'repeated' | 'growth' | 'growth-site';
	/** Of the function or subsystem; null: it is of none. */
	name: string | null;
	/** bytes or blocks. */
	value: number;
	/** Of the total. */
	percent: number;
	/** That it is in (backtraces). */
	traces: number;
	headline: string;
	/** The same in a sentence or two. */
	text: string;
}

export interface Next {
	command: string;
	/** What it tells. */
	why: string;
}

export interface Source {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	/** As it was asked for. */
	file: string;
	/** Its text. */
	lines: string[];
	/** Of lines that have any. */
	sums: LineSum[];
}

export interface LineSum {
	/** From 1. */
	line: number;
	/** That came through it (bytes). */
	bytes: number;
	/** That came through it (blocks). */
	blocks: number;
	/** Of them: allocated there (bytes). */
	self_bytes: number;
	/** Of them: allocated there (blocks). */
	self_blocks: number;
}

export interface LiveTotals {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	/** How far it goes (since the epoch). */
	timestamp: Time;
	/** How far it goes (since the start). */
	timestamp_relative: Time;
	/** Part of the recording (part). */
	timestamp_relative_p: number;
	/** All blocks. */
	allocated: Usage;
	/** Freed. */
	temporary: Usage;
	/** Not freed by the end. */
	leaked: Usage;
	/** The most that was in use. */
	peak: Usage;
	/** When that was first, since the start (ns). */
	peak_ns: number;
	/** Blocks that the agent sent in sums, which are in allocated and temporary. */
	culled: Usage;
	/** Those of which sums can't tell what a filter asks, which are in no number. */
	culled_left_out: Usage;
	/** Estimated where sampled (blocks). */
	allocations: number;
	/** Estimated where sampled (blocks). */
	frees: number;
	/** As far as they were recorded (events). */
	reallocations: number;
	/** Allocations that failed (events). */
	failed: number;
	/** That allocated (backtraces). */
	distinct_backtraces: number;
	/** threads. */
	threads: number;
	/** Programs and libraries (modules). */
	modules: number;
	/** That are stored (events). */
	events: number;
	/** That are not (events). */
	lost: number;
	/** In memory, when it was last read (bytes). */
	rss?: number;
}

export interface Maps {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	maps: Map[];
	/** That match (maps). */
	total_count: number;
	/** Readings say protection, name and memory. */
	gathered: boolean;
	/** Beyond what is kept (maps). */
	left_out?: number;
	/** Beyond what is kept (readings). */
	usage_left_out?: number;
}

export interface Map {
	/** Its number in the order in which maps were seen (id). */
	id: number;
	/** address. */
	address: number;
	/** 16 hexadecimal digits. */
	address_s: string;
	/** Of the call, else of the reading (since the epoch). */
	timestamp: Time;
	/** Of the call, else of the reading (since the start). */
	timestamp_relative: Time;
	/** Part of the recording (part). */
	timestamp_relative_p: number;
	/** bytes. */
	size: number;
	/** The call that mapped it. */
	source?: Call;
	/** Absent: some of it is there. */
	deallocation?: MapEnd;
	/** As last seen. */
	is_readable?: boolean;
	/** As last seen. */
	is_writable?: boolean;
	/** As last seen. */
	is_executable?: boolean;
	/** As last seen. */
	is_shared?: boolean;
	/** As last seen. */
	name?: string;
	/** Most of it that was in memory (bytes). */
	peak_rss?: number;
	peak_rss_estimated?: boolean;
	/** A picture, with generate_graphs. */
	graph_url?: string;
	/** A small one. */
	graph_preview_url?: string;
	/** With_regions: what it is made of. */
	regions?: MapRegion[];
	/** With_usage_history. */
	usage_history?: MapReading[];
}

export interface Call {
	/** since the epoch. */
	timestamp: Time;
	/** since the start. */
	timestamp_relative: Time;
	/** Part of the recording (part). */
	timestamp_relative_p: number;
	/** 0: unknown (tid). */
	thread: number;
	/** id. */
	backtrace_id?: number;
	/** The outermost frame first. */
	backtrace?: Frame[];
}

export interface MapEnd {
	/** When the last of it went (since the epoch). */
	timestamp: Time;
	/** The call. */
	source?: Call;
}

export interface MapRegion {
	/** address. */
	address: number;
	/** 16 hexadecimal digits. */
	address_s: string;
	/** When it began (since the epoch). */
	timestamp: Time;
	/** When it began (since the start). */
	timestamp_relative: Time;
	/** Part of the recording (part). */
	timestamp_relative_p: number;
	/** bytes. */
	size: number;
	/** Absent: it is there. */
	deallocation?: MapRegionEnd;
	/** As last seen. */
	is_readable?: boolean;
	/** As last seen. */
	is_writable?: boolean;
	/** As last seen. */
	is_executable?: boolean;
	/** As last seen. */
	is_shared?: boolean;
	/** As last seen. */
	name?: string;
	/** bytes. */
	file_offset?: number;
	inode?: number;
	/** Of the device. */
	major?: number;
	/** Of the device. */
	minor?: number;
}

export interface MapRegionEnd {
	/** since the epoch. */
	timestamp: Time;
	/** None where a reading showed it. */
	sources: MapRegionTaken[];
}

export interface MapRegionTaken {
	/** address. */
	address: number;
	/** 16 hexadecimal digits. */
	address_s: string;
	/** bytes. */
	length: number;
	/** The call. */
	source: Call;
}

export interface MapReading {
	/** since the epoch. */
	timestamp: Time;
	/** since the start. */
	timestamp_relative: Time;
	/** Part of the recording (part). */
	timestamp_relative_p: number;
	/** bytes. */
	address_space: number;
	/** bytes. */
	anonymous?: number;
	/** bytes. */
	shared_clean?: number;
	/** bytes. */
	shared_dirty?: number;
	/** bytes. */
	private_clean?: number;
	/** bytes. */
	private_dirty?: number;
	/** bytes. */
	swap?: number;
	/** bytes. */
	rss?: number;
	/** bytes. */
	pss?: number;
	/** True: a part of a reading of several maps. */
	estimated?: boolean;
}

export interface Mmaps {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	/** In order; each has one member. */
	operations: Operation[];
}

export interface Operation {
	mmap?: MappingCall;
	mremap?: MappingCall;
	munmap?: MappingCall;
	sbrk?: MappingCall;
	sbrk_back?: MappingCall;
}

export interface MappingCall {
	/** address. */
	pointer: number;
	/** 16 hexadecimal digits. */
	pointer_s: string;
	/** bytes. */
	length: number;
	/** Of mremap, where it lay before (address). */
	old_pointer?: number;
	/** 16 hexadecimal digits. */
	old_pointer_s?: string;
	/** since the epoch. */
	timestamp: Time;
	/** 0: unknown (tid). */
	thread: number;
	/** 0: there is none (id). */
	backtrace_id: number;
	/** The outermost frame first. */
	backtrace: Frame[];
}

export interface Mallopt {
	/** since the epoch. */
	timestamp: Time;
	/** 0: unknown (tid). */
	thread: number;
	/** 0: there is none (id). */
	backtrace_id: number;
	/** The outermost frame first. */
	backtrace: Frame[];
	/** As it was called with. */
	raw_param: number;
	/** Its name in malloc.h, if it is known. */
	param?: string;
	value: number;
	/** 1: it was taken. */
	result: number;
}

export interface Regions {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	/** Of its first block in use (address). */
	main_heap_start?: number;
	/** 16 hexadecimal digits. */
	main_heap_start_s?: string;
	/** Of its last block in use (address). */
	main_heap_end?: number;
	/** 16 hexadecimal digits. */
	main_heap_end_s?: string;
	/** [from, to] of each, ascending (address). */
	regions: [number, number][];
}

export interface RawAllocation {
	/** 16 hexadecimal digits each, the outermost first (address). */
	backtrace: string[];
}

export interface Fragmentation {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	/** The moment (since the epoch). */
	timestamp: Time;
	/** The moment (since the start). */
	timestamp_relative: Time;
	/** Part of the recording (part). */
	timestamp_relative_p: number;
	/** The moment, since the start (ns). */
	at_ns: number;
	/** blocks. */
	in_use_blocks: number;
	/** B (bytes). */
	in_use_bytes: number;
	/** bytes. */
	page_size: number;
	/** With something in use on them (pages). */
	pages: number;
	/** P: of these pages (bytes). */
	page_bytes: number;
	/** B / P (part). */
	page_fill: number;
	/** Pages by tenths. */
	pages_by_fill: PageClass[];
	/** Some blocks were not recorded: pages seem emptier. */
	sampled: boolean;
	/** Were maps gathered? Only then the rest. */
	gathered: boolean;
	/** When R was read, since the start (ns). */
	maps_ns?: number;
	/** R: of the heap's regions (bytes). */
	resident_bytes?: number;
	/** 1 - B / R (part). */
	fragmentation?: number;
	/** Most resident first. */
	heap_regions?: HeapRegion[];
}

export interface PageClass {
	/** In use of the page; up to a tenth more (part). */
	fill_min: number;
	/** pages. */
	pages: number;
	/** bytes. */
	in_use_bytes: number;
}

export interface HeapRegion {
	/** address. */
	address: number;
	/** bytes. */
	size: number;
	name: string;
	/** At the last reading of maps before (bytes). */
	resident_bytes: number;
	/** That begin there (blocks). */
	in_use_blocks: number;
	/** bytes. */
	in_use_bytes: number;
	/** Of pages with something in use on them (bytes). */
	page_bytes: number;
}

export interface FragmentationTimeline {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	/** Of the readings (ms since the epoch). */
	xs: number[];
	/** 1 - in_use / anonymous (part). */
	fragmentation: number[];
	/** Of the program's blocks (bytes). */
	in_use: number[];
	/** bytes. */
	rss: number[];
	/** bytes. */
	anonymous: number[];
	/** What glibc's mallinfo2 said. */
	allocator: AllocatorFigures;
}

export interface AllocatorFigures {
	/** Of the readings (ms since the epoch). */
	xs: number[];
	/** bytes. */
	arena: number[];
	/** bytes. */
	hblkhd: number[];
	/** bytes. */
	uordblks: number[];
	/** bytes. */
	fordblks: number[];
	/** bytes. */
	keepcost: number[];
	/** Fordblks / (arena + hblkhd) (part). */
	fragmentation: number[];
}

export interface TimelineMaps {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	/** Of the readings (ms since the epoch). */
	xs: number[];
	/** bytes. */
	address_space: number[];
	/** bytes. */
	rss: number[];
	/** bytes. */
	anonymous: number[];
	/** bytes. */
	dirty: number[];
	/** bytes. */
	clean: number[];
	/** bytes. */
	swap: number[];
	/** bytes. */
	pss: number[];
}

export interface Dynamic {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	/** That were left (blocks). */
	count: number;
	/** That were left (bytes). */
	size: number;
	/** By the path of the source file; ?: unknown. */
	per_file: Record<string, StaticFile>;
}

export interface StaticFile {
	/** That were left (blocks). */
	count: number;
	/** That were left (bytes). */
	size: number;
	/** By the number of the line; 0: unknown. */
	per_line: Record<string, StaticLine>;
}

export interface StaticLine {
	/** That were left (blocks). */
	count: number;
	/** That were left (bytes). */
	size: number;
}

export interface ControlReply {
	/** Of the recording. */
	id: string;
	/** In which its program is recorded now. */
	mode: string;
	/** Of the mode sample (bytes). */
	interval?: number;
	/** Since the start, when it was carried out (ns). */
	time_ns: number;
	/** That was taken (id). */
	snapshot?: number;
	/** What the agent says to it. */
	text?: string;
}

export interface Sql {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	/** Their names. */
	columns: string[];
	/** Objects, a member a column. */
	rows: Record<string, string | number | null>[];
	/** rows. */
	row_count: number;
	/** There were more rows than count. */
	cut: boolean;
}

export interface ScriptRun {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	/** Ok or error. */
	status: string;
	/** s. */
	elapsed: number;
	/** What went wrong. */
	message?: string;
	/** Of the text, where that is. */
	line?: number;
	/** Likewise. */
	column?: number;
	/** What was printed until then. */
	output: Printed[];
}

export interface Printed {
	/** Println. */
	kind: string;
	/** A line: the names of columns, or a row. */
	value: string;
}

export interface Script {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	/** A comment. */
	prologue: string;
	/** The statement. */
	code: string;
}

/** What is answered where: by the path behind /data/ID/, or of no recording. */
export interface Answers {
	'list': Recording[];
	'questions': Question[];
	'snapshots': FleetSnapshot[];
	'rights': Rights;
	'openapi.json': Openapi;
	'allocations': Allocations;
	'allocation_groups': AllocationGroups;
	'tree': TreeNode;
	'flame': Flame;
	'backtrace/{number}': Backtrace;
	'backtraces': Backtraces;
	'timeline': Timeline;
	'timeline_leaked': Timeline;
	'histogram': Histogram;
	'snapshot': Moment;
	'peak': Moment;
	'leaks': LeaksAndSuppressed;
	'report': Report;
	'hidden': Hidden;
	'diff': Diff;
	'ledger': Ledger;
	'analyze': Analysis;
	'source': Source;
	'maps': Maps;
	'mmaps': Mmaps;
	'mallopts': Mallopt[];
	'regions': Regions;
	'raw_allocations': RawAllocation[];
	'fragmentation': Fragmentation;
	'fragmentation_timeline': FragmentationTimeline;
	'timeline_maps': TimelineMaps;
	'dynamic_constants': Dynamic;
	'dynamic_statics': Dynamic;
	'sql': Sql;
	'allocation_filter_to_script': Script;
	'map_filter_to_script': Script;
}

/** Files for other tools: what stands behind /data/ID/export/, what the file is called, and the choice in the menu. */
export const FILES: readonly (readonly [string, string, string])[] = [
	['flamegraph.pl', 'stacks.txt', 'Collapsed stacks'],
	['speedscope', 'heap.speedscope.json', 'speedscope'],
	['pprof', 'heap.pb.gz', 'pprof: go tool pprof'],
	['heaptrack', 'heap.heaptrack', 'heaptrack'],
	['jemalloc', 'heap.jeprof', 'jemalloc: jeprof'],
	['gperftools', 'heap.gperf', 'gperftools: google-pprof'],
	['massif', 'massif.out', 'massif: ms_print'],
	['callgraph', 'calls.dot', 'Call graph: dot'],
	['json', 'allocations.jsonl', 'Allocations (JSON lines)'],
	['csv', 'allocations.csv', 'Allocations (CSV)'],
];
