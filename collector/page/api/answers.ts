// Written by api/generate.mjs from what the collector says of its answers
// (/openapi.json): not to be edited.
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
	/** The machine's model, as its maker calls it. */
	board?: string;
	/** Path of the program's control group. */
	cgroup?: string;
	/** Build id of the program's file. */
	build_id?: string;
	/** KEY=VALUE, separated by commas. */
	tags?: string;
	/** Bytes in use at the end, or as far as the recording goes (bytes). */
	final_allocated: number;
	/** Blocks in use at the end, or as far as the recording goes (blocks). */
	final_allocated_count: number;
	/** How long the recording is (duration). */
	runtime: Time;
	/**
	 * Different backtraces that allocated; this and the next three members are absent until the
	 * recording has been opened (backtraces).
	 */
	unique_backtrace_count?: number;
	/** Frames of the deepest backtrace, inlined ones not counted (frames). */
	maximum_backtrace_depth?: number;
	/** False: the program had run before recording began. */
	watched_from_start?: boolean;
	/** False: the program's end was not seen. */
	watched_to_end?: boolean;
	/** When recording began (since the epoch). */
	timestamp: Time;
	host: string;
	/** Number of the process; 0: the recording was imported. */
	pid: number;
	/** Interrupted: no end was recorded, and nobody writes to it. */
	state: 'live' | 'ended' | 'interrupted';
	/** True: a snapshot of a fleet, with what was in use at one moment. */
	is_snapshot: boolean;
	/** Events that have come so far (events). */
	events: number;
	/** Events a second since the look before; only in /events (events/s). */
	events_per_second?: number;
	/** Length of the recording; compressed ones take less room (bytes). */
	recording_bytes: number;
	/** The collector that has the beginning: the agent has moved. */
	began_on?: string;
	/** What the recording does not hold, in a sentence. */
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
	/** In the first event all recordings, in later ones those that are new or have changed. */
	changed: Recording[];
	/** Ids of recordings that were removed. */
	gone: string[];
}

export interface Question {
	/** The path that was asked for, without parameters. */
	path: string;
	/** Waiting: it waits for a thread; sending: the answer is being sent. */
	state: 'waiting' | 'running' | 'sending';
	/** Seconds since it was asked (s). */
	seconds: number;
	/** Blocks that were looked at so far (blocks of 65,536 allocations). */
	blocks_done: number;
	/** Blocks to be looked at, in all passes that have begun (blocks of 65,536 allocations). */
	blocks: number;
	/** True: its connection was closed, so it ends soon. */
	cancelled: boolean;
}

export interface FleetSnapshot {
	name: string;
	/**
	 * What names it where several collectors share a data base, and its name alone does not:
	 * NAME@HOST, or its id.
	 */
	called?: string;
	/** Id of the snapshot's recording. */
	id: string | null;
	/** When the snapshot was begun (ns since the epoch). */
	wall_ns: number;
	/** Time from the beginning to the last marker (ns). */
	took_ns: number;
	/** Time between the first and the last marker, by the clocks of the hosts (ns). */
	clock_spread_ns: number;
	/** In use in all processes. */
	in_use: Usage;
	processes: SnapshotProcess[];
	missing: SnapshotMissing[];
}

export interface Usage {
	/** Estimated where sampled (bytes). */
	bytes: number;
	/** Estimated where sampled (blocks). */
	blocks: number;
	/** Half of the 95 % interval (bytes). */
	bytes_error?: number;
	/** Half of the 95 % interval (blocks). */
	blocks_error?: number;
	/** Sampled blocks, which stand for others, too (blocks). */
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
	/** Number of its marker. */
	mark: number;
	/** Time of the marker, since the start of the process's recording (ns). */
	time_ns: number;
	/** Time of the marker, by the clock of its host (ns since the epoch). */
	wall_ns: number;
	/** How far the clock of its host is ahead of the collector's (ns). */
	clock_offset_ns?: number;
	/** The offset is not wrong by more: half of the time from the order to the reply (ns). */
	clock_error_ns?: number;
	/**
	 * It had no marker, and joined when its data had come: what it had in use at the time of the
	 * snapshot, by the clock of its host.
	 */
	late: boolean;
	/** What its recording lacked: more may have been in use. */
	incomplete?: string;
}

export interface SnapshotMissing {
	/** Id of its recording. */
	stream: string;
	host: string;
	executable: string;
	pid: number;
	why: string;
	/** When it was last heard of (ns since the epoch). */
	last_wall_ns: number;
}

export interface SharedStream {
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
	/** The machine's model, as its maker calls it. */
	board?: string;
	/** Path of the program's control group. */
	cgroup?: string;
	/** Build id of the program's file. */
	build_id?: string;
	/** KEY=VALUE, separated by commas. */
	tags?: string;
	/** Bytes in use at the end, or as far as sums have been sent (bytes). */
	final_allocated: number;
	/** Blocks in use then (blocks). */
	final_allocated_count: number;
	/** How far sums have been sent (duration). */
	runtime: Time;
	/** When recording began (since the epoch). */
	timestamp: Time;
	host: string;
	/** Number of the process; 0: the recording was imported. */
	pid: number;
	/** Interrupted: no end was recorded, and nobody writes to it. */
	state: 'live' | 'ended' | 'interrupted';
	/** Events that have come so far (events). */
	events: number;
	/** Bytes on the collector's disk (bytes). */
	recording_bytes: number;
	/** True: a snapshot of a fleet, with what was in use at one moment. */
	is_snapshot: boolean;
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	/** Host of the collector that has the recording. */
	collector: string;
	/** Of its page, where all about the stream is. */
	collector_address?: string;
	/** The collector gives no sign since then; 0: it is there (ns since the epoch). */
	collector_away_since_ns: number;
	/** True: that is this collector. One that had only the beginning is not meant. */
	is_here: boolean;
}

export interface FleetComparison {
	/** Why there is nobody to compare. */
	note?: string;
	/** Texts and integers only. */
	report: FleetReport;
	/** Of the report's bytes, as `jq -cj .report` prints them; null: libcrypto is missing. */
	sha256: string | null;
}

export interface FleetReport {
	/** Times are since the start of each process, not the epoch. */
	by_age: boolean;
	/** The first moment (ns since the epoch). */
	from_ns: number;
	/** The last moment (ns since the epoch). */
	to_ns: number;
	/** Time from moment to moment (ns). */
	step_ns: number;
	moments: number;
	streams: number;
	/** Programs on hosts, each in one build. */
	boards: number;
	programs: number;
	builds: number;
	/** There is older data, for which there were too many moments. */
	cut: boolean;
	/** Boards with too few moments to tell growth. */
	too_short: number;
	/** Streams that could not be read. */
	unread: number;
	/** Of the first of them. */
	unread_why?: string;
	/** Boards whose clocks are wrong, by host. */
	left_out: FleetLeftOut[];
	/** Strongest first. */
	findings: FleetFinding[];
	/** Most growth first. */
	functions: FleetFunction[];
}

export interface FleetLeftOut {
	host: string;
	/** Of the board, that are left out. */
	streams: number;
	/** In a sentence: the clock was not set, or how far it is ahead. */
	why: string;
}

export interface FleetFinding {
	kind: 'leak_on_boards' | 'growth_in_build' | 'growth' | 'more_in_build' | 'more_on_boards';
	program: string;
	/** Null: unknown. */
	function: string | null;
	/** Name of the program or library, without folders; null: unknown. */
	module: string | null;
	/** Build id of the program; null: this is not about a build. */
	build: string | null;
	/** The build that it is compared with. */
	earlier_build: string | null;
	/** When it began; 0: before the first moment, or not known (ns since the epoch). */
	since_ns: number;
	/** Of all its boards together (bytes). */
	bytes: number;
	/** Of the median of its boards (bytes). */
	median: number;
	/** Of the other boards, or of those with the earlier build (bytes). */
	others_median: number;
	/** 95 % of the others have no more (bytes). */
	others_p95: number;
	/** Number of boards that were compared. */
	compared: number;
	/** Most bytes first. */
	boards: FleetBoard[];
}

export interface FleetBoard {
	host: string;
	/** How much it has grown, or holds, beyond the others (bytes). */
	bytes: number;
}

export interface FleetFunction {
	program: string;
	/** Null: unknown. */
	function: string | null;
	/** Name of the program or library, without folders; null: unknown. */
	module: string | null;
	/** Of all boards together, over the whole time (bytes). */
	growth: number;
	/** Of a board (bytes). */
	growth_median: number;
	/** Half of the interval that holds the median with 95 % (bytes). */
	growth_median_error: number;
	/** 95 % of the boards have no more (bytes). */
	growth_p95: number;
	/** Boards on which it grows, and goes on growing. */
	growing: number;
	/** Of those, the board on which it grows most; null: none. */
	most_host: string | null;
	/** Boards with enough moments to tell. */
	boards: number;
	/** At the last moment, on all boards (bytes). */
	in_use: number;
}

export interface FleetTop {
	/** Why there is nothing to tell. */
	note?: string;
	/** The moment: the beginning of a minute (ns since the epoch). */
	at_ns: number;
	/** What a row is. */
	by: 'function' | 'site' | 'backtrace';
	/** That were recorded at that moment. */
	streams: number;
	/** Streams that could not be read. */
	unread: number;
	/** Of the first of them. */
	unread_why?: string;
	/** Boards whose clocks are wrong, by host. */
	left_out: FleetLeftOut[];
	/** In use on all boards (bytes). */
	bytes: number;
	/** Half of the 95 % interval (bytes). */
	bytes_error?: number;
	/** In use on all boards (blocks). */
	blocks: number;
	/** Different ones that have something in use. */
	backtraces: number;
	/** How many rows there would be. */
	groups: number;
	/** Most bytes first. */
	rows: FleetTopRow[];
}

export interface FleetTopRow {
	/** Null: unknown. */
	function: string | null;
	/** Name of the program or library, without folders; null: unknown. */
	module: string | null;
	/** Of the call site. */
	file?: string;
	/** Of the call site. */
	line?: number;
	/** By backtrace: its number, which is the same in all recordings. */
	backtrace?: string;
	/** In use; estimated if sampled (bytes). */
	bytes: number;
	/** Half of the 95 % interval (bytes). */
	bytes_error?: number;
	/** In use; estimated if sampled (blocks). */
	blocks: number;
	/** Of all bytes in use, in thousandths. */
	share: number;
	/** Different ones that have something in use. */
	backtraces: number;
}

export interface Imported {
	/** Name of the file; of several that make one stream: all, with commas. */
	file: string;
	/** Id of the recording, for /data/ID. */
	id: string;
	/** Format of the file; heapcast: it was a recording already. */
	format: string;
	/** The tool that wrote it; empty: unknown. */
	tool: string;
	/** What to know about the numbers; empty: nothing. */
	note: string;
	/** Events that were imported (events). */
	events: number;
}

export interface Rights {
	/** True: the client may give orders, import files and read sources. */
	orders: boolean;
	/** Why it may not, and what it has to bring. */
	why?: string;
	/** True: the client has the cookie of the login page; POST /logout ends it. */
	login: boolean;
	/** True: a data folder is served, into which files can be imported. */
	data: boolean;
	/** Bytes that an imported file may have now (bytes). */
	import_bytes: number;
}

export interface Openapi {
	/** The version of OpenAPI. */
	openapi: string;
	info: OpenapiInfo;
	/** Path items by path: OpenAPI 3.1, 4.8.9. */
	paths: Record<string, unknown>;
	components: OpenapiComponents;
}

export interface OpenapiInfo {
	/** Name of the API. */
	title: string;
	/** Version of the API, not of the collector. */
	version: string;
}

export interface OpenapiComponents {
	/** Security schemes by name: OpenAPI 3.1, 4.8.27. */
	securitySchemes: Record<string, unknown>;
	/** Schemas of answers by name: JSON Schema, draft 2020-12. */
	schemas: Record<string, unknown>;
}

export interface Allocations {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	allocations: Allocation[];
	/** Allocations that match (blocks). */
	total_count: number;
}

export interface Allocation {
	/** Number of the allocation, in the order of allocations, from 0 (id). */
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
	/** Number of the thread that allocated it; 0: unknown (tid). */
	thread: number;
	/** Bytes that the program asked for (bytes). */
	size: number;
	/** Bytes that it stands for, if it was sampled (bytes). */
	weight?: number;
	/** Always 0, because it is not recorded (bytes). */
	extra_space: number;
	/** Id of the backtrace; 0: there is none (id). */
	backtrace_id: number;
	/** True: glibc gave it a mapping of its own. */
	is_mmaped?: boolean;
	/** True: it lies in the main arena of glibc, or has a mapping of its own. */
	in_main_arena?: boolean;
	/** True: it came from libjemalloc. */
	is_jemalloc?: boolean;
	/** When and by whom it was freed; absent: it was not. */
	deallocation?: Death;
	/** When and by whom the last block of its chain of reallocs was freed. */
	chain_deallocation?: Death;
	/** Frames, the outermost first. */
	backtrace: Frame[];
	/** How long its chain of reallocs lived; absent: the chain goes on (duration). */
	chain_lifetime?: Time;
	/** Number of blocks before it in its chain of reallocs (blocks). */
	position_in_chain: number;
	/** Number of blocks in its chain of reallocs; 1: realloc never touched it (blocks). */
	chain_length: number;
}

export interface Death {
	/** since the epoch. */
	timestamp: Time;
	/** Number of the thread that freed it; 0: unknown (tid). */
	thread: number;
	/** id. */
	backtrace_id?: number;
	/** The outermost frame first. */
	backtrace?: Frame[];
}

export interface Frame {
	/** Return address; 0 if the frame has none (address). */
	address: number;
	/** 16 hexadecimal digits. */
	address_s: string;
	/** Blocks of the whole recording whose backtrace passes through this place (blocks). */
	count: number;
	/** Path of the program or library; absent: the code was made at run time. */
	library?: string;
	/** The demangled name, or in brackets what the frame stands for. */
	function?: string;
	/** The function without template arguments and parameters; absent if that is the same. */
	function_short?: string;
	/** Where the function is that nobody can name, "[library+offset]"; absent: it has a name. */
	place?: string;
	/** The name as it stands in the file. */
	raw_function?: string;
	/** The source file. */
	source?: string;
	line?: number;
	column?: number;
	/** True: inlined into the frame before it. */
	is_inline: boolean;
}

export interface AllocationGroups {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	/** The groups. */
	allocations: AllocationGroup[];
	/** Number that match (groups). */
	total_count: number;
}

export interface AllocationGroup {
	/** All blocks of the backtrace. */
	all: AllSide;
	/** The blocks that match. */
	only_matched: MatchedSide;
	/** Id of the backtrace; 0: there is none (id). */
	backtrace_id: number;
	/** Frames, the outermost first. */
	backtrace: Frame[];
}

export interface AllSide {
	/** Bytes that the program asked for (bytes). */
	size: number;
	/** Size of the smallest block (bytes). */
	min_size: number;
	/** Size of the largest block (bytes). */
	max_size: number;
	/** Time of the first allocation (since the epoch). */
	min_timestamp: Time;
	/** Time of the first allocation (since the start). */
	min_timestamp_relative: Time;
	/** Part of the recording (part). */
	min_timestamp_relative_p: number;
	/** Time of the last allocation (since the epoch). */
	max_timestamp: Time;
	/** Time of the last allocation (since the start). */
	max_timestamp_relative: Time;
	/** Part of the recording (part). */
	max_timestamp_relative_p: number;
	/** Time between these two (duration). */
	interval: Time;
	/** Blocks that were never freed (blocks). */
	leaked_count: number;
	/** blocks. */
	allocated_count: number;
	/** The first moment at which most of its bytes were in use (since the epoch). */
	max_total_usage_first_seen_at: Time;
	/** The first moment at which most of its bytes were in use (since the start). */
	max_total_usage_first_seen_at_relative: Time;
	/** Part of the recording (part). */
	max_total_usage_first_seen_at_relative_p: number;
	/** Short-lived blocks, which are in no other number here (blocks). */
	culled_count?: number;
	/** Bytes of short-lived blocks, which are in no other number here (bytes). */
	culled_size?: number;
	/** Address of a picture, with generate_graphs. */
	graph_url?: string;
	/** Address of a small picture, with generate_graphs. */
	graph_preview_url?: string;
}

export interface MatchedSide {
	/** Bytes that the program asked for (bytes). */
	size: number;
	/** Size of the smallest block (bytes). */
	min_size: number;
	/** Size of the largest block (bytes). */
	max_size: number;
	/** Time of the first allocation (since the epoch). */
	min_timestamp: Time;
	/** Time of the first allocation (since the start). */
	min_timestamp_relative: Time;
	/** Part of the recording (part). */
	min_timestamp_relative_p: number;
	/** Time of the last allocation (since the epoch). */
	max_timestamp: Time;
	/** Time of the last allocation (since the start). */
	max_timestamp_relative: Time;
	/** Part of the recording (part). */
	max_timestamp_relative_p: number;
	/** Time between these two (duration). */
	interval: Time;
	/** Blocks that were never freed (blocks). */
	leaked_count: number;
	/** blocks. */
	allocated_count: number;
	/** Address of a picture, with generate_graphs. */
	graph_url?: string;
	/** Address of a small picture, with generate_graphs. */
	graph_preview_url?: string;
}

export interface TreeNode {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	/** Bytes in the frame and below it (bytes). */
	size: number;
	/** Blocks in the frame and below it (blocks). */
	count: number;
	/** Time of the first allocation (since the epoch). */
	first: Time;
	/** Time of the last allocation (since the epoch). */
	last: Time;
	/** The frame; absent: it is the root. */
	value?: Frame;
	/** The frames that this frame called. */
	children: TreeNode[];
}

export interface Flame {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	/** All frames together. */
	total: Usage;
	/** The same of the base. */
	base_total?: Usage;
	/** Nodes that were left out (nodes). */
	cut: number;
	/** Texts that indices point to; the first one is empty. */
	strings: string[];
	/**
	 * For each string, the function without template arguments and parameters; empty if that is the
	 * same.
	 */
	short: string[];
	/** Arrays with one value for each frame. */
	frames: FlameFrames;
	/** Arrays with one value for each node; parents come before children. */
	nodes: FlameNodes;
}

export interface FlameFrames {
	/** Index into strings (index). */
	function: number[];
	/** Index into strings; 0: unknown (index). */
	file: number[];
	/** 0: unknown. */
	line: number[];
	/** Index into strings; 0: unknown (index). */
	module: number[];
	/** 1: inlined into its parent. */
	inline: number[];
}

export interface FlameNodes {
	/** 0: the root (frames). */
	depth: number[];
	/** Index into frames; -1: the root (index). */
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
	/** Frames, the outermost first, inlined ones included. */
	frames: Frame[];
}

export interface Backtraces {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	/** For each backtrace its frames, the outermost first. */
	backtraces: Frame[][];
	/** Number that match (backtraces). */
	total_count: number;
}

export interface Timeline {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	/** Where each point begins (ms since the epoch). */
	xs: number[];
	/** Change of the bytes in use, from the start of the point to its end (bytes). */
	size_delta: number[];
	/** Change of the blocks in use, from the start of the point to its end (blocks). */
	count_delta: number[];
	/** The most bytes in use at any moment of the point (bytes). */
	allocated_size: number[];
	/** The most blocks in use at any moment of the point (blocks). */
	allocated_count: number[];
	/** Blocks allocated during the point (blocks). */
	allocations: number[];
	/** Blocks freed during the point (blocks). */
	deallocations: number[];
	/** Where the point begins, since the start (ns). */
	start_ns: number[];
	/** The fewest bytes in use at any moment of the point (bytes). */
	allocated_size_min: number[];
	/** The fewest blocks in use at any moment of the point (blocks). */
	allocated_count_min: number[];
	/** Bytes in use at the end of the point (bytes). */
	allocated_size_last: number[];
	/** Blocks in use at the end of the point (blocks). */
	allocated_count_last: number[];
	/** Bytes allocated during the point (bytes). */
	allocations_size: number[];
	/** Bytes freed during the point (bytes). */
	deallocations_size: number[];
	/** Width of each point; the last one may be shorter (ns). */
	width_ns: number;
	/** Where the last point ends, since the start (ns). */
	end_ns: number;
	/** Bands, the largest first. */
	series?: Series[];
}

export interface Series {
	/** Name of a group, of a filter, or of the rest. */
	name: string;
	/** Function of a group; null: unknown. */
	function?: string | null;
	/** The function without template arguments and parameters; absent if that is the same. */
	function_short?: string;
	/** Null: unknown. */
	file?: string | null;
	/** 0: unknown. */
	line?: number;
	/** Null: unknown. */
	module?: string | null;
	/** Id of the backtrace, if groups are backtraces (id). */
	backtrace_id?: number;
	/** The highest of its values (bytes or blocks). */
	most: number;
	/** A value for each point, with weight=bytes (bytes). */
	allocated_size?: number[];
	/** A value for each point, with weight=blocks (blocks). */
	allocated_count?: number[];
}

export interface Histogram {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	/** Which of the matched blocks count. */
	value: string;
	/** All blocks together. */
	total: Usage;
	/** By size; each class is twice as wide as the one before. */
	sizes: SizeClass[];
	/** By lifetime; only blocks that were freed. */
	lifetimes: LifetimeClass[];
	/** Blocks that were not freed by the end. */
	leaked: Usage;
	/** Blocks whose end is unknown, because of a loss or an exec. */
	end_unknown: Usage;
}

export interface SizeClass {
	/** The smallest size of the class (bytes). */
	size_min: number;
	/** The largest size of the class, included (bytes). */
	size_max?: number;
	/** All blocks of these sizes. */
	allocated: Usage;
	/** Blocks of these sizes that were not freed by the end. */
	leaked: Usage;
}

export interface LifetimeClass {
	/** The shortest lifetime of the class (ns). */
	lifetime_min_ns: number;
	/** The longest lifetime of the class, included (ns). */
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
	/** All groups together. */
	total: Usage;
	/** Number of groups (groups). */
	group_count: number;
	/** The heaviest first. */
	groups: Group[];
}

export interface Group {
	/** Null: unknown. */
	function: string | null;
	/** The function without template arguments and parameters; absent if that is the same. */
	function_short?: string;
	/** Null: unknown. */
	file: string | null;
	/** 0: unknown. */
	line: number;
	/** Path of the program or library; null: unknown. */
	module: string | null;
	/** Id of the heaviest backtrace (id). */
	backtrace_id: number;
	/** The amount that was asked for. */
	value: Usage;
	/** All blocks, whatever became of them. */
	allocated: Usage;
	/** Blocks that were not freed by the end. */
	leaked: Usage;
	/** Blocks that were freed. */
	temporary: Usage;
	/** Size of the smallest block (bytes). */
	min_size: number;
	/** Size of the largest block (bytes). */
	max_size: number;
	/** Time of the first allocation, since the start (ns). */
	first_ns: number;
	/** Time of the last allocation, since the start (ns). */
	last_ns: number;
}

export interface LeaksAndSuppressed {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	/** Blocks that were not freed by the end. */
	total: Usage;
	/** Those of them that are not recent. */
	old: Usage;
	/** Those of them that are recent. */
	young: Usage;
	/**
	 * Bytes not freed, each block weighed by the share of blocks of its call site that reached its
	 * age and were never freed (bytes).
	 */
	suspect_bytes: number;
	/** Blocks younger than this are recent (ns). */
	young_ns: number;
	/**
	 * The program goes on: growth counts from here, where the later half of the time begins (ns).
	 */
	late_since_ns?: number;
	/** Number of groups (groups). */
	group_count: number;
	/** Call sites, those with most suspect bytes first. */
	groups: Leak[];
	/** What suppressions left out. */
	suppressed: Suppressed;
}

export interface Leak {
	/** Null: unknown. */
	function: string | null;
	/** The function without template arguments and parameters; absent if that is the same. */
	function_short?: string;
	/** Null: unknown. */
	file: string | null;
	/** 0: unknown. */
	line: number;
	/** Path of the program or library; null: unknown. */
	module: string | null;
	/** Id of the backtrace of its biggest block in use (id). */
	backtrace_id: number;
	/**
	 * Bytes not freed, each block weighed by the share of blocks of its call site that reached its
	 * age and were never freed; while the program goes on at most twice those of the later half of
	 * the time (bytes).
	 */
	suspect_bytes: number;
	/** Blocks that were not freed by the end. */
	value: Usage;
	/** Those of them that are not recent. */
	old: Usage;
	/** Those of them that are recent. */
	young: Usage;
	/** Those of them that were allocated at late_since_ns or later; 0 if the program has ended. */
	late: Usage;
	/** All blocks, whatever became of them. */
	allocated: Usage;
	/** No block of the call site was freed. */
	whole_group_leaked: boolean;
	/** Age of the youngest block that was not freed (ns). */
	age_min_ns: number;
	/** Age of the oldest block that was not freed (ns). */
	age_max_ns: number;
	/** Longest lifetime of a block that was freed (ns). */
	longest_lifetime_ns?: number;
}

export interface Suppressed {
	/** What was left out of the answer. */
	total: Usage;
	/** The patterns that suppressed something. */
	patterns: SuppressedBy[];
}

export interface SuppressedBy {
	/** The pattern, as it stands behind leak:. */
	pattern: string;
	/** What a built-in pattern stands for. */
	built_in?: string;
	/** What the pattern suppressed. */
	value: Usage;
}

export interface Report {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	/** All blocks, whatever became of them. */
	allocated: Usage;
	/** Blocks that were freed. */
	temporary: Usage;
	/** Blocks that were not freed by the end. */
	leaked: Usage;
	/** The most that was in use at any moment. */
	peak: Usage;
	/** The first moment at which that was in use, since the start (ns). */
	peak_ns: number;
	/** Short-lived blocks, which the agent sent as sums; allocated and temporary include them. */
	culled: Usage;
	/**
	 * Short-lived blocks that are in no number, because their sums can't tell whether the filter
	 * matches.
	 */
	culled_left_out: Usage;
	/** Number of allocations; an estimate if sampled (blocks). */
	allocations: number;
	/** Number of frees; an estimate if sampled (blocks). */
	frees: number;
	/** Number of reallocations that were recorded (events). */
	reallocations: number;
	/** Allocations that failed (events). */
	failed: number;
	/** Different backtraces that allocated (backtraces). */
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
	/** The function without template arguments and parameters; absent if that is the same. */
	function_short?: string;
	/** Path of the program or library. */
	module?: string;
	/** True: it was found by its share of what passes through it; false: by a rule. */
	is_wrapper: boolean;
	/** Different backtraces in which it is left out (backtraces). */
	backtraces: number;
}

export interface Diff {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	/** What the base has. */
	base: Usage;
	/** What the new recording has. */
	new: Usage;
	/** Bytes of new less those of base (bytes). */
	bytes: number;
	/** Blocks of new less those of base (blocks). */
	blocks: number;
	/** Bytes of groups that only the new recording has (bytes). */
	added_bytes: number;
	/** Blocks of groups that only the new recording has (blocks). */
	added_blocks: number;
	/** Bytes of groups that only the base has (bytes). */
	removed_bytes: number;
	/** Blocks of groups that only the base has (blocks). */
	removed_blocks: number;
	/** Bytes by which groups of both have grown (bytes). */
	grown_bytes: number;
	/** Bytes by which groups of both have shrunk (bytes). */
	shrunk_bytes: number;
	/** Groups that only the new recording has (groups). */
	added_count: number;
	/** Groups that only the base has (groups). */
	removed_count: number;
	/** Groups of both that differ (groups). */
	changed_count: number;
	/** Groups without a difference, which are left out (groups). */
	same_count: number;
	/** Groups, the largest difference first. */
	groups: DiffGroup[];
	/** Functions that look renamed, the heaviest first, 8 at most. */
	renamed: DiffRenamed[];
}

export interface DiffGroup {
	/** Null: unknown. */
	function: string | null;
	/** The function without template arguments and parameters; absent if that is the same. */
	function_short?: string;
	/** Null: unknown. */
	file: string | null;
	/** 0: unknown. */
	line: number;
	/** Path of the program or library; null: unknown. */
	module: string | null;
	/** Id of the heaviest backtrace in the base (id). */
	base_backtrace_id?: number;
	/** Id of the heaviest backtrace in the new recording (id). */
	backtrace_id?: number;
	/** Added: only the new recording has it; removed: only the base; changed: both. */
	kind: 'added' | 'removed' | 'changed';
	/** Bytes of new less those of base (bytes). */
	bytes: number;
	/** Blocks of new less those of base (blocks). */
	blocks: number;
	/** Half of the 95 % interval (bytes). */
	bytes_error?: number;
	/** What the base has. */
	base: Usage;
	/** What the new recording has. */
	new: Usage;
}

export interface DiffRenamed {
	/** The function, as the base calls it. */
	base_function: string;
	/** The function, as the new recording calls it. */
	function: string;
	/** Path of the program or library. */
	module?: string;
	/** What it has in the base. */
	base: Usage;
	/** What it has in the new recording. */
	new: Usage;
	/** Share of the bytes of the base that are there again for the same callers. */
	percent: number;
}

export interface Ledger {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	/** 32 hexadecimal digits. */
	id: string;
	/** Id of the recording that it was forked from. */
	parent?: string;
	/** Number of the parent's event at which it was forked. */
	parent_event?: number;
	/** All that was produced is stored or accounted for. */
	adds_up: boolean;
	/** Why the account does not add up; null: it does. */
	reason: string | null;
	/** Nothing that was to be recorded is missing. */
	complete: boolean;
	/** What is missing. */
	missing: Missing;
	/** How long the program had run before recording began; 0: recorded from its start (ns). */
	ran_before_ns: number;
	/** Events that the program produced (events). */
	produced: number;
	/** Events that the agent delivered (events). */
	delivered: number;
	/** Events of short-lived blocks, which are kept as sums. */
	culled: number;
	/** Events that sampling left out (events). */
	not_sampled: number;
	/** Events that were lost (events). */
	lost: number;
	/** Events that are on their way: the agent still holds them (events). */
	pending: number;
	/** Events that are stored in this recording (events). */
	stored: number;
	/** Stored allocations. */
	stored_allocations: number;
	/** Stored reallocations. */
	stored_reallocations: number;
	/** Stored frees. */
	stored_frees: number;
	/** Stored events that are no blocks of the heap: mappings, pools, settings (events). */
	stored_apart: number;
	/** Events before the collector joined (events). */
	before_join: number;
	/** Events before the program had an agent (events). */
	before_recording: number;
	/** 1: the program has not begun to record, else 0. */
	not_begun: number;
	/** Processes that descend from this one and are in no recording. */
	unrecorded: number;
	/** Events of these processes, as far as they were counted (events). */
	unrecorded_events: number;
	/** Bytes that these processes allocated, as far as they were counted (bytes). */
	unrecorded_bytes: number;
	/** Those of these processes whose events nobody counted. */
	unrecorded_uncounted: number;
	/** Events of short-lived blocks whose sums are not in this recording. */
	culled_missed: number;
	/**
	 * Events that the agent delivered and the collector missed, because it was too slow or away too
	 * long (events).
	 */
	missed: number;
	/** Events before the collector joined, or missed by it, that another collector has (events). */
	elsewhere: number;
	/** Allocations among the lost events. */
	lost_allocations: number;
	/** Frees among the lost events. */
	lost_frees: number;
	/** Bytes of the lost allocations (bytes). */
	lost_bytes: number;
	/** Samples without room in the full set of the program; not_sampled includes them. */
	samples_refused: number;
	/** Stacks that were cut, because the agent's table was full. */
	stacks_cut: number;
	/** Stacks that were cut, because the program's loader was busy. */
	stacks_unknown: number;
	/** Batches that are missing. */
	missing_batches: number;
	/** Batches that came twice; the second one was skipped. */
	duplicate_batches: number;
	/** Bytes after the last whole frame (bytes). */
	cut_bytes: number;
	/** Damaged bytes that were skipped (bytes). */
	skipped_bytes: number;
	/** Places that are damaged. */
	damaged_places: number;
	/** Marks beyond the first million, which are left out. */
	marks_left_out: number;
	/** Frees of blocks whose allocation was not recorded. */
	orphan_frees: number;
	/** Frees of blocks that the parent had allocated. */
	inherited_frees: number;
	/** Blocks whose end was inferred, because their address was allocated again. */
	inferred: number;
	/** Events whose order by the clock was overruled. */
	repaired: number;
	/** Blocks whose fate is unknown, because of gaps. */
	censored: number;
	/** Allocations that failed. */
	failed: number;
	/** Events with a thread or stack that nothing defined; they have no stack. */
	bad_references: number;
	/** The numbers above, as `collector ledger` prints them. */
	lines: AccountLine[];
	threads: AccountThread[];
	/** Places where events of a thread are missing. */
	gaps: Gap[];
	/** Parts of the stream that other collectors have, because the agent has moved. */
	parts: AccountPart[];
	/** Processes that are in no recording. */
	unrecorded_children: UnrecordedChild[];
	/** Changes in how the program was recorded. */
	states: RecordingState[];
	/** End of the program; null: it was not seen. */
	end: ProgramEnd | null;
}

export interface Missing {
	/** Events that never came (events). */
	lost_events: number;
	/** Bytes of these events, as far as they are known (bytes). */
	lost_bytes: number;
	/** Of the lost events, the calls that threads were in when they were killed (events). */
	unfinished_events: number;
	/** Events of short-lived blocks whose sums never came (events). */
	culled_events: number;
	/** Events before the collector joined (events). */
	start_events: number;
	/**
	 * Of these and of what the collector missed, the events that another collector has (events).
	 */
	elsewhere_events: number;
	/** Namespaces of the loader with a malloc of their own, which was not recorded. */
	namespaces: number;
	/** The recording has no end, and nobody writes it any more. */
	tail_unknown: boolean;
	/** Events that the agent held when it last reported (events). */
	tail_events: number;
	damaged_places: number;
	/** Damaged bytes that were skipped (bytes). */
	damaged_bytes: number;
	/** Bytes after the last whole frame (bytes). */
	cut_bytes: number;
	/** Batches that never came. */
	batches: number;
	/** Events that came, and were lost by damage (events). */
	damage_events: number;
	/** Allocations that were counted, but have no row (blocks). */
	rowless_allocations: number;
	/** Bytes of these allocations (bytes). */
	rowless_bytes: number;
}

export interface AccountLine {
	/** Name of the member that has the same number. */
	name: string;
	/** The line's text; two blanks in front: it is a part of an earlier line. */
	text: string;
	value: number;
}

export interface AccountThread {
	/** Threads are numbered from 1, in the order in which they were seen. */
	number: number;
	/** tid. */
	tid: number;
	/** Name of the thread; empty: unknown. */
	name: string;
	/** Produced by the thread (events). */
	produced: number;
	/** Delivered by the agent (events). */
	delivered: number;
	/** events. */
	lost: number;
	/** In the recording (events). */
	stored: number;
	/** Events of short-lived blocks, which are only counted (events). */
	culled: number;
}

export interface Gap {
	/** Number of the thread; 0: unknown. */
	thread: number;
	/** Number of the first missing event of the thread. */
	from: number;
	/** Number of the first event that is there again. */
	to: number;
	/** Events that are missing (events). */
	events: number;
	/** Allocations among them (events). */
	allocations: number;
	/** Frees among them (events). */
	frees: number;
	/** Bytes of these allocations (bytes). */
	bytes: number;
	/** When the gap began, since the start (ns). */
	from_ns: number;
	/** When the gap ended, since the start (ns). */
	to_ns: number;
	/** Why the events are missing. */
	reason:
		| 'unknown'
		| 'ring full'
		| 'no slice'
		| 'spool full'
		| 'thread died in a record'
		| 'agent was gone'
		| 'damaged record'
		| 'joined late'
		| 'thinned'
		| 'no result'
		| 'at another collector';
}

export interface AccountPart {
	/** The collector, as the agent calls it. */
	host: string;
	/** Its id: 32 hexadecimal digits. */
	collector: string;
	/** Which agent's batches: 1 is the first. */
	incarnation: number;
	/** Its first batch. */
	from: number;
	/** Its last batch. */
	upto: number;
	/** Events in these (events). */
	events: number;
	/** False: all of them are here, too. */
	lacking: boolean;
}

export interface UnrecordedChild {
	/** Name of the process. */
	name: string;
	pid: number;
	/** False: nobody counted its events, and the numbers below are unknown. */
	counted: boolean;
	/** events. */
	events: number;
	/** events. */
	allocations: number;
	/** events. */
	frees: number;
	/** Bytes that it allocated (bytes). */
	bytes: number;
}

export interface RecordingState {
	/**
	 * The kind of change: thinned, waited, suspended, exec, delivery, started, stopped, mode,
	 * snapshot or text.
	 */
	state: string;
	/** Number of the thread; 0: it was the agent. */
	thread: number;
	/** When it happened, since the start (ns). */
	time_ns: number;
	/** The change in words. */
	what: string;
	/** A sampling interval, a time or a number, depending on state. */
	value: number;
	/** A text that somebody gave. */
	text?: string;
	/** Who ordered the change. */
	by?: string;
}

export interface ProgramEnd {
	/** How the program ended, in words. */
	how: string;
	/** How it ended; detached: the program goes on. */
	kind: 'unknown' | 'exited' | 'signalled' | 'oom_killed' | 'detached';
	/** The exit status, or the number of the signal. */
	status: number;
	core_dumped: boolean;
	/** From what the agent knows it. */
	source: 'unknown' | 'wait' | 'pidfd' | 'proc';
	/** The counter of out-of-memory kills that rose. */
	oom_counter: 'none' | 'cgroup_2' | 'cgroup_1' | 'system';
}

export interface Analysis {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	/** Name of the file or recording, as it was given. */
	source: string;
	/** The rules that were used. */
	rules: string;
	/** Unit of all values. */
	unit: 'bytes' | 'blocks';
	/** All together (bytes or blocks). */
	total: number;
	/** True: the total was more than can be counted. */
	total_capped: boolean;
	/** All blocks together (blocks). */
	blocks?: number;
	/** backtraces. */
	stack_traces: number;
	/** Functions in these backtraces. */
	functions: number;
	/** Allocations of containers that grew. */
	grown: number;
	/** What was left out; null: nothing. */
	note: string | null;
	/** The heaviest backtraces. */
	top: AnalysisTrace[];
	/** Functions in which backtraces begin. */
	outermost: AnalysisFunctions;
	/** Functions in which backtraces end. */
	innermost: AnalysisFunctions;
	/** Callers of what allocated, without noise. */
	callers: AnalysisFunctions;
	/** Subsystems, the heaviest first. */
	subsystems: Subsystem[];
	/** What stands out. */
	findings: Finding[];
	/** Commands to ask next. */
	next: Next[];
}

export interface AnalysisTrace {
	/** bytes or blocks. */
	value: number;
	/** Of the total. */
	percent: number;
	/** blocks. */
	blocks?: number;
	/** Name of its subsystem; null: none. */
	subsystem: string | null;
	/** The frames that tell most, in one line. */
	brief: string;
	/** Frames, the innermost first. */
	frames: AnalysisFrame[];
}

export interface AnalysisFrame {
	name: string;
	/** True: the rules say that it explains nothing. */
	noise: boolean;
}

export interface AnalysisFunctions {
	/** Number of functions. */
	count: number;
	/** The heaviest functions. */
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
	/** Name of the subsystem; null: stacks of no subsystem. */
	name: string | null;
	/** bytes or blocks. */
	value: number;
	/** Of the total. */
	percent: number;
	/** That it is in (backtraces). */
	traces: number;
}

export interface Finding {
	/** What kind of thing was found. */
	kind: 'site' | 'traces' | 'subsystem' | 'no-subsystem' | 'repeated' | 'growth' | 'growth-site';
	/** Name of the function or subsystem; null: the finding is about neither. */
	name: string | null;
	/** bytes or blocks. */
	value: number;
	/** Of the total. */
	percent: number;
	/** That it is in (backtraces). */
	traces: number;
	/** The finding in a few words. */
	headline: string;
	/** The finding in a sentence or two. */
	text: string;
}

export interface Next {
	command: string;
	/** What the command tells. */
	why: string;
}

export interface Source {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	/** Path of the file, as it was asked for. */
	file: string;
	/** Text of the file. */
	lines: string[];
	/** Sums of the lines that have any. */
	sums: LineSum[];
}

export interface LineSum {
	/** Number of the line, from 1. */
	line: number;
	/** Bytes of allocations whose backtrace passes through the line (bytes). */
	bytes: number;
	/** Blocks whose backtrace passes through the line (blocks). */
	blocks: number;
	/** Bytes of those that the line itself allocated (bytes). */
	self_bytes: number;
	/** Those blocks that the line itself allocated (blocks). */
	self_blocks: number;
}

export interface LiveTotals {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	/** The moment up to which the recording goes (since the epoch). */
	timestamp: Time;
	/** The moment up to which the recording goes (since the start). */
	timestamp_relative: Time;
	/** Part of the recording (part). */
	timestamp_relative_p: number;
	/** All blocks, whatever became of them. */
	allocated: Usage;
	/** Blocks that were freed. */
	temporary: Usage;
	/** Blocks that were not freed by the end. */
	leaked: Usage;
	/** The most that was in use at any moment. */
	peak: Usage;
	/** The first moment at which that was in use, since the start (ns). */
	peak_ns: number;
	/** Short-lived blocks, which the agent sent as sums; allocated and temporary include them. */
	culled: Usage;
	/**
	 * Short-lived blocks that are in no number, because their sums can't tell whether the filter
	 * matches.
	 */
	culled_left_out: Usage;
	/** Number of allocations; an estimate if sampled (blocks). */
	allocations: number;
	/** Number of frees; an estimate if sampled (blocks). */
	frees: number;
	/** Number of reallocations that were recorded (events). */
	reallocations: number;
	/** Allocations that failed (events). */
	failed: number;
	/** Different backtraces that allocated (backtraces). */
	distinct_backtraces: number;
	/** threads. */
	threads: number;
	/** Programs and libraries (modules). */
	modules: number;
	/** Events that are stored (events). */
	events: number;
	/** Events that were lost (events). */
	lost: number;
	/** Resident memory, when it was last read (bytes). */
	rss?: number;
}

export interface Maps {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	maps: Map[];
	/** Maps that match (maps). */
	total_count: number;
	/** True: there are readings of memory maps, which tell protection, name and memory. */
	gathered: boolean;
	/** Maps that were left out, because there were more than are kept (maps). */
	left_out?: number;
	/** Readings that were left out, because there were more than are kept (readings). */
	usage_left_out?: number;
}

export interface Map {
	/** Its number in the order in which maps were seen (id). */
	id: number;
	/** address. */
	address: number;
	/** 16 hexadecimal digits. */
	address_s: string;
	/** When it was mapped: time of the call, else of the reading (since the epoch). */
	timestamp: Time;
	/** When it was mapped: time of the call, else of the reading (since the start). */
	timestamp_relative: Time;
	/** Part of the recording (part). */
	timestamp_relative_p: number;
	/** bytes. */
	size: number;
	/** The call that mapped it. */
	source?: Call;
	/** When and by whom the last of it was unmapped; absent: some of it is still mapped. */
	deallocation?: MapEnd;
	/** As last seen. */
	is_readable?: boolean;
	/** As last seen. */
	is_writable?: boolean;
	/** As last seen. */
	is_executable?: boolean;
	/** As last seen. */
	is_shared?: boolean;
	/** Name as last seen. */
	name?: string;
	/** The most of it that was in memory (bytes). */
	peak_rss?: number;
	peak_rss_estimated?: boolean;
	/** Address of a picture, with generate_graphs. */
	graph_url?: string;
	/** Address of a small picture, with generate_graphs. */
	graph_preview_url?: string;
	/** The regions that it is made of, with with_regions. */
	regions?: MapRegion[];
	/** Readings of how much was in memory, with with_usage_history. */
	usage_history?: MapReading[];
}

export interface Call {
	/** since the epoch. */
	timestamp: Time;
	/** since the start. */
	timestamp_relative: Time;
	/** Part of the recording (part). */
	timestamp_relative_p: number;
	/** Number of the thread; 0: unknown (tid). */
	thread: number;
	/** id. */
	backtrace_id?: number;
	/** The outermost frame first. */
	backtrace?: Frame[];
}

export interface MapEnd {
	/** When its last part was unmapped (since the epoch). */
	timestamp: Time;
	/** The call that did it. */
	source?: Call;
}

export interface MapRegion {
	/** address. */
	address: number;
	/** 16 hexadecimal digits. */
	address_s: string;
	/** When the region began (since the epoch). */
	timestamp: Time;
	/** When the region began (since the start). */
	timestamp_relative: Time;
	/** Part of the recording (part). */
	timestamp_relative_p: number;
	/** bytes. */
	size: number;
	/** When and by whom the region was unmapped; absent: it is still mapped. */
	deallocation?: MapRegionEnd;
	/** As last seen. */
	is_readable?: boolean;
	/** As last seen. */
	is_writable?: boolean;
	/** As last seen. */
	is_executable?: boolean;
	/** As last seen. */
	is_shared?: boolean;
	/** Name as last seen. */
	name?: string;
	/** bytes. */
	file_offset?: number;
	inode?: number;
	/** Major number of the device. */
	major?: number;
	/** Minor number of the device. */
	minor?: number;
}

export interface MapRegionEnd {
	/** since the epoch. */
	timestamp: Time;
	/** The calls that did it; none if only a reading showed it. */
	sources: MapRegionTaken[];
}

export interface MapRegionTaken {
	/** address. */
	address: number;
	/** 16 hexadecimal digits. */
	address_s: string;
	/** bytes. */
	length: number;
	/** The call that did it. */
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
	/** True: the figures are a share of a reading that covers several maps. */
	estimated?: boolean;
}

export interface Mmaps {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	/** Calls in order; each object has one member. */
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
	/** For mremap, where the mapping lay before (address). */
	old_pointer?: number;
	/** 16 hexadecimal digits. */
	old_pointer_s?: string;
	/** since the epoch. */
	timestamp: Time;
	/** Number of the thread; 0: unknown (tid). */
	thread: number;
	/** Id of the backtrace; 0: there is none (id). */
	backtrace_id: number;
	/** Frames, the outermost first. */
	backtrace: Frame[];
}

export interface Mallopt {
	/** since the epoch. */
	timestamp: Time;
	/** Number of the thread; 0: unknown (tid). */
	thread: number;
	/** Id of the backtrace; 0: there is none (id). */
	backtrace_id: number;
	/** Frames, the outermost first. */
	backtrace: Frame[];
	/** Number of the parameter, as the program gave it. */
	raw_param: number;
	/** Its name in malloc.h, if it is known. */
	param?: string;
	value: number;
	/** What mallopt returned; 1: the value was taken. */
	result: number;
}

export interface Regions {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	/** Address of the first block in use of the main heap (address). */
	main_heap_start?: number;
	/** 16 hexadecimal digits. */
	main_heap_start_s?: string;
	/** Address of the last block in use of the main heap (address). */
	main_heap_end?: number;
	/** 16 hexadecimal digits. */
	main_heap_end_s?: string;
	/** [from, to] of each range, ascending (address). */
	regions: [number, number][];
}

export interface RawAllocation {
	/** Return addresses of 16 hexadecimal digits, the outermost first (address). */
	backtrace: string[];
}

export interface Fragmentation {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	/** The moment that was asked for (since the epoch). */
	timestamp: Time;
	/** The moment that was asked for (since the start). */
	timestamp_relative: Time;
	/** Part of the recording (part). */
	timestamp_relative_p: number;
	/** The moment, since the start (ns). */
	at_ns: number;
	/** blocks. */
	in_use_blocks: number;
	/** B: bytes in use (bytes). */
	in_use_bytes: number;
	/** bytes. */
	page_size: number;
	/** Pages with something in use on them (pages). */
	pages: number;
	/** P: bytes of these pages (bytes). */
	page_bytes: number;
	/** B / P (part). */
	page_fill: number;
	/** Pages by tenths. */
	pages_by_fill: PageClass[];
	/** True: some blocks were not recorded, so pages seem emptier than they are. */
	sampled: boolean;
	/** True: memory maps were gathered; only then the members below are there. */
	gathered: boolean;
	/** When R was read, since the start (ns). */
	maps_ns?: number;
	/** R: bytes of the heap's regions that were in memory (bytes). */
	resident_bytes?: number;
	/** 1 - B / R (part). */
	fragmentation?: number;
	/** Regions of the heap, those with most in memory first. */
	heap_regions?: HeapRegion[];
}

export interface PageClass {
	/** The part of the page that is in use, at least; at most a tenth more (part). */
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
	/** Bytes in memory at the last reading of maps before the moment (bytes). */
	resident_bytes: number;
	/** Blocks in use that begin in the region (blocks). */
	in_use_blocks: number;
	/** bytes. */
	in_use_bytes: number;
	/** Bytes of pages that have something in use on them (bytes). */
	page_bytes: number;
}

export interface FragmentationTimeline {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	/** Times of the readings (ms since the epoch). */
	xs: number[];
	/** 1 - in_use / anonymous (part). */
	fragmentation: number[];
	/** Bytes in use in blocks of the program (bytes). */
	in_use: number[];
	/** bytes. */
	rss: number[];
	/** bytes. */
	anonymous: number[];
	/** What glibc's mallinfo2 said. */
	allocator: AllocatorFigures;
}

export interface AllocatorFigures {
	/** Times of the readings (ms since the epoch). */
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
	/** Times of the readings (ms since the epoch). */
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
	/** Blocks that initialisers left (blocks). */
	count: number;
	/** Bytes that initialisers left (bytes). */
	size: number;
	/** By the path of the source file; ?: unknown. */
	per_file: Record<string, StaticFile>;
}

export interface StaticFile {
	/** Blocks that initialisers left (blocks). */
	count: number;
	/** Bytes that initialisers left (bytes). */
	size: number;
	/** By the number of the line; 0: unknown. */
	per_line: Record<string, StaticLine>;
}

export interface StaticLine {
	/** Blocks that initialisers left (blocks). */
	count: number;
	/** Bytes that initialisers left (bytes). */
	size: number;
}

export interface ControlReply {
	/** Id of the recording. */
	id: string;
	/** The mode in which the program is recorded now. */
	mode: string;
	/** Interval of the mode sample (bytes). */
	interval?: number;
	/** When the order was carried out, since the start (ns). */
	time_ns: number;
	/** Number of the snapshot that was taken (id). */
	snapshot?: number;
	/** What the agent says about it. */
	text?: string;
}

export interface Sql {
	/** What the recording does not hold, in a sentence. */
	incomplete?: string;
	/** Names of the columns. */
	columns: string[];
	/** Rows as objects, with a member for each column. */
	rows: Record<string, string | number | null>[];
	/** rows. */
	row_count: number;
	/** True: there were more rows than count. */
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
	/** Line of the text at which it went wrong. */
	line?: number;
	/** Column of that line. */
	column?: number;
	/** What was printed until then. */
	output: Printed[];
}

export interface Printed {
	/** Always println. */
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
	'shared': SharedStream[];
	'shared/snapshots': FleetSnapshot[];
	'fleet': FleetComparison;
	'fleet/top': FleetTop;
	'rights': Rights;
	'openapi.json': Openapi;
	'allocations': Allocations;
	'allocation_groups': AllocationGroups;
	'tree': TreeNode;
	'flame': Flame;
	'backtrace/{backtrace_id}': Backtrace;
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

/**
 * Files for other tools: what stands behind /data/ID/export/, what the file is called, and the
 * choice in the menu.
 */
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
