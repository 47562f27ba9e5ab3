// What a statement can ask: the tables with what a row is (docs/sql.md), their columns as the
// server has them, our functions, examples.
import { about, ask } from '../base/ask';
import type { Rows } from '../api/types';

export const TABLES: Record<string, string> = {
	allocations: 'an allocation, in the order of birth',
	stacks: 'a backtrace with its sums',
	frames: 'a frame of a backtrace, the innermost first',
	modules: 'a program or library',
	threads: 'a thread',
	maps: 'a mapping',
	map_usage: 'a reading of the usage of a mapping',
	timeline: 'a bucket of time; timeline(BUCKETS, FROM_NS, TO_NS, LEAKED_ONLY)',
	marks: 'what the program or somebody outside said',
	culled: 'a sum over short-lived blocks',
	figures: 'a reading of the process as the kernel counts it',
	gaps: 'a loss of events',
	calls: 'a call that is no block of the heap: mmap, sbrk, mallopt',
	recording: 'the process: one row',
};

export const FUNCTIONS: readonly (readonly [string, string])[] = [
	['through', '(STACK, PATTERN): a function of the backtrace matches the regular expression'],
	['through_source', '(STACK, PATTERN): a source file of the backtrace does'],
	['through_module', '(STACK, NAME): a frame lies in the program or library'],
	['stack_text', '(STACK [, SEPARATOR]): the functions of a backtrace'],
	['depth', '(STACK): frames of a backtrace'],
	['site', '(STACK): the innermost function that is not an allocator’s own'],
	['bytes', '(N): a size as people write it'],
	['duration', '(NS): a time as people write it'],
	['address', '(N): an address as people write it'],
	['bytes_error', '(SIZE, BYTES): half the 95 % interval of sum(bytes)'],
	['blocks_error', '(SIZE, BYTES): the same of sum(blocks)'],
];

export const EXAMPLES: readonly (readonly [string, string])[] = [
	[
		'Leaks by function',
		'select function, file, line, sum(leaked_bytes) as leaked_bytes, ' +
			'sum(leaked_blocks) as blocks\nfrom stacks group by function, file, line having ' +
			'leaked_bytes > 0\norder by leaked_bytes desc limit 20',
	],
	[
		'Most allocated, by call site',
		'select function, file, line, sum(allocated_bytes) as bytes, ' +
			'sum(allocated_blocks) as blocks\nfrom stacks group by function, file, line ' +
			'order by bytes desc limit 30',
	],
	[
		'In use over time',
		'select start_ns, bytes_max as bytes, allocations, frees from timeline(300)',
	],
	['The process over time', 'select time_ns, rss, anonymous, swap from figures'],
	[
		'By thread',
		'select t.name, t.tid, sum(a.bytes) as bytes, count(*) as blocks\nfrom ' +
			'allocations a join threads t using (thread) group by t.thread order by bytes ' +
			'desc',
	],
	[
		'By library',
		'select module, sum(allocated_bytes) as bytes, sum(leaked_bytes) as ' +
			'leaked_bytes\nfrom stacks group by module order by bytes desc',
	],
	[
		'Sizes in classes that double',
		'select 1 << cast(floor(log2(max(size, 1))) as integer) as size_min, count(*) as ' +
			'blocks, sum(bytes) as bytes\nfrom allocations group by 1 order by 1',
	],
	[
		'Lifetimes by powers of ten',
		'select duration(cast(pow(10, floor(log10(max(lifetime_ns, 1)))) as integer)) as ' +
			'lived, count(*) as blocks, sum(bytes) as bytes\nfrom allocations where freed ' +
			'group by 1 order by min(lifetime_ns)',
	],
	[
		'Blocks that come and go',
		'select function, size, count(*) as blocks, avg(lifetime_ns) as lifetime_ns\n' +
			'from allocations where freed_at_once\ngroup by function, size having blocks > ' +
			'100 order by blocks desc limit 30',
	],
	[
		'Who frees',
		'select site(death_stack) as freed_by, count(*) as blocks, sum(bytes) as bytes\n' +
			'from allocations where freed group by freed_by order by blocks desc limit 20',
	],
	[
		'Long chains of reallocs',
		'select chain, max(chain_length) as steps, min(first_size) as first_size, ' +
			'max(last_size) as last_size, max(chain_lifetime_ns) as chain_lifetime_ns\nfrom ' +
			'allocations where chain_length > 3 group by chain order by steps desc limit 30',
	],
	[
		'The largest blocks that were not freed',
		'select address, size, birth_ns, function, file, line, stack\nfrom allocations ' +
			'where leaked = 1 order by size desc limit 100',
	],
	[
		'Mappings by name',
		'select name, sum(size) as size, sum(peak_rss) as peak_rss, count(*) as maps\n' +
			'from maps group by name order by size desc',
	],
];

export interface ColumnOf {
	name: string;
	type: string;
}
export type Schema = Record<string, ColumnOf[]>;

const QUESTION =
	`select t.value as tab, c.name as name, c.type as type from json_each('` +
	`${JSON.stringify(Object.keys(TABLES))}') t join pragma_table_info(t.value) c`;
let known: Promise<Schema> | undefined;

/** Columns of all tables: the same for each recording, so asked for once. */
export function schemaOf(stream: string): Promise<Schema> {
	known ??= ask<Rows>(about(stream, 'sql'), { text: QUESTION }).then(
		({ rows }) => {
			const schema: Schema = {};
			for (const { tab, name, type } of rows)
				(schema[String(tab)] ??= []).push({
					name: String(name),
					type: String(type ?? '').toLowerCase(),
				});
			return schema;
		},
		() => {
			known = undefined;
			return Object.fromEntries(Object.keys(TABLES).map((name) => [name, []]));
		},
	);
	return known;
}
