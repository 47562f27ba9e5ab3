// What filters there are. The server describes them (/openapi.json): names and sentences are its
// own, so that a filter that it learns is here by itself, under "Other". Known here is only what
// belongs together, and an example of each.
import { ask } from '../base/ask';

export interface Filter {
	name: string;
	/** What it matches, as the server says it. */
	sentence: string;
	/** What it takes: SIZE, TIME, REGEX, N... */
	takes: string;
	/** If it takes one of a few. */
	choices: string[];
	example: string;
}

/** A line of the panel: a filter, or the two ends of a range. */
export interface Field {
	title: string;
	filters: Filter[];
}

export interface Group {
	title: string;
	about: string;
	fields: Field[];
}

const GROUPS: { title: string; about: string; names: string[] }[] = [
	{
		title: 'Time',
		about:
			'When blocks were allocated, or in use. A range can be dragged in the time ' +
			'strip, too.',
		names: ['from', 'to', 'alive_at', 'alive_at_2'],
	},
	{
		title: 'Size',
		about:
			'How many bytes the program asked for. A bar of the view “Sizes, lifetimes” sets ' +
			'it, too.',
		names: ['size'],
	},
	{
		title: 'Lifetime',
		about: 'How long blocks lived, and whether they were freed.',
		names: ['lifetime_which', 'lifetime', 'temporary'],
	},
	{
		title: 'Stack',
		about:
			'Through which functions, files or libraries blocks were allocated: any frame of ' +
			'the backtrace counts, not only the innermost.',
		names: [
			'function_regex',
			'negative_function_regex',
			'source_regex',
			'negative_source_regex',
			'module',
			'backtrace_depth',
			'backtraces',
			'deallocation_backtraces',
		],
	},
	{
		title: 'Realloc chains',
		about:
			'A block that realloc grows or moves is another block, and the chain is all of ' +
			'them. One that realloc never touched is a chain of one.',
		names: ['chain_length', 'position_in_chain', 'first_size', 'last_size', 'chain_lifetime'],
	},
	{
		title: 'Backtraces as a whole',
		about:
			'What is true of all blocks with the same backtrace together: how often it ' +
			'allocated, how much of it was freed.',
		names: [
			'group_allocations',
			'group_leaked_allocations',
			'group_interval',
			'group_max_total_usage_first_seen',
		],
	},
	{
		title: 'Threads, labels',
		about: 'Who allocated, and what the program said of itself then.',
		names: ['thread', 'thread_name', 'tag', 'marker'],
	},
	{
		title: 'Memory',
		about: 'Where blocks lay.',
		names: ['address', 'from_map', 'mmaped', 'arena', 'jemalloc'],
	},
	{
		title: 'Other',
		about:
			'A condition in SQL, what trees leave out, and what this page does not know more ' +
			'of.',
		names: ['custom_filter', 'hide'],
	},
];

const TITLES: Record<string, string> = {
	from: 'Allocated from',
	to: 'Allocated until',
	alive_at: 'In use at',
	alive_at_2: 'And in use at',
	size: 'Size',
	lifetime: 'Lived',
	lifetime_which: 'Freed or not',
	temporary: 'Temporary',
	function_regex: 'Through function',
	negative_function_regex: 'Not through function',
	source_regex: 'Through source file',
	negative_source_regex: 'Not through source file',
	module: 'Through module',
	backtrace_depth: 'Depth of the stack',
	backtraces: 'Backtrace',
	deallocation_backtraces: 'Freed by backtrace',
	chain_length: 'Blocks of the chain',
	position_in_chain: 'Reallocs before it',
	first_size: 'First size',
	last_size: 'Last size',
	chain_lifetime: 'The chain lived',
	group_allocations: 'Allocations',
	group_leaked_allocations: 'Not freed of these',
	group_interval: 'From first to last',
	group_max_total_usage_first_seen: 'Most in use at',
	thread: 'Thread',
	thread_name: 'Name of the thread',
	tag: 'Label',
	marker: 'Marker',
	address: 'Address',
	from_map: 'Map',
	mmaped: 'Mapping of its own',
	arena: 'Arena',
	jemalloc: 'From jemalloc',
	hide: 'Hide what passes on',
	custom_filter: 'SQL condition',
};

const EXAMPLES: Record<string, string> = {
	from: '1.5s',
	to: '50%',
	alive_at: '2s',
	alive_at_2: '90%',
	lifetime_min: '100ms',
	lifetime_max: '5us',
	function_regex: '^parse_',
	negative_function_regex: 'cache|pool',
	source_regex: 'json\\.c$',
	negative_source_regex: '/third_party/',
	module: 'libc.so.6',
	group_leaked_allocations_min: '50%',
	group_interval_min: '10s',
	thread_name: '^worker',
	tag: 'request',
	address_min: '0x7f0000000000',
	address_max: '0x7fffffffffff',
	custom_filter: 'size between 100 and 200',
};
const EXAMPLE_OF: Record<string, string> = {
	SIZE: '4K',
	TIME: '1.5s',
	REGEX: '^name',
	N: '3',
	ID: '42',
	ADDRESS: '0x7f00',
	TEXT: 'text',
};

const CHOICES: Record<string, string> = {
	all: 'freed and not freed',
	only_leaked: 'not freed by the end',
	only_freed: 'freed',
	only_whole_group_leaked: 'of a backtrace that freed none of its blocks',
	only_chain_leaked: 'last of a realloc chain, and not freed',
	only_deallocated_in_current_range: 'freed within “allocated from … until”',
	only_not_deallocated_in_current_range: 'not freed within “allocated from … until”',
	non_main: 'not the main arena',
	main: 'the main arena',
	auto: 'known by name, or by their share',
	rules: 'known by name',
	none: 'nothing',
};

export function choiceInWords(choice: string): string {
	return CHOICES[choice] ?? choice.replaceAll('_', ' ');
}

/** "yes or no: glibc gave..." has choices, "of this many bytes or more: 100, 4K" has none. */
function choicesOf(sentence: string): string[] {
	const words = sentence.split(':')[0]!.split(/, | or /);
	return words.length > 1 && words.every((w) => /^[a-z_]+$/.test(w)) && sentence.includes(' or ')
		? words
		: [];
}

export function filterOf(name: string, description: string): Filter {
	const [, sentence = description, takes = ''] =
		/^(.*?)(?:; takes ([^;]*))?$/s.exec(description) ?? [];
	const choices = takes === 'WHICH' ? choicesOf(sentence) : [];
	// What the choice itself shows need not be said again.
	const rest = choices.length ? (sentence.split(/: (.*)/s)[1] ?? '') : sentence;
	return {
		name,
		sentence: rest,
		takes,
		choices,
		example: EXAMPLES[name] ?? EXAMPLE_OF[takes] ?? '',
	};
}

/**
 * size_min and size_max are `size`. `lifetime`, which takes words, is another thing than
 * lifetime_min.
 */
function baseOf(name: string): string {
	return name === 'lifetime' ? 'lifetime_which' : name.replace(/_(min|max)$/, '');
}

export function titleOf(base: string): string {
	const text = TITLES[base] ?? base.replaceAll('_', ' ');
	return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Filters by group, in the order in which the panel has them. */
export function grouped(filters: Filter[]): Group[] {
	const fields = new Map<string, Field>();
	for (const filter of filters) {
		const base = baseOf(filter.name);
		const field = fields.get(base) ?? { title: titleOf(base), filters: [] };
		field.filters.push(filter);
		fields.set(base, field);
	}
	const groups = GROUPS.map(({ title, about, names }) => {
		const own = names.flatMap((name) => {
			const field = fields.get(name);
			fields.delete(name);
			return field ? [field] : [];
		});
		return { title, about, fields: own };
	});
	groups[groups.length - 1]!.fields.push(...fields.values());
	return groups.filter((g) => g.fields.length > 0);
}

interface OpenApi {
	paths: Record<
		string,
		{ get?: { parameters: { name: string; in: string; description?: string }[] } }
	>;
}

let described: Promise<Group[]> | undefined;

/**
 * Asked for once. A filter is what allocations and the report have in common: the rest says how
 * they are listed.
 */
export function describe(): Promise<Group[]> {
	described ??= ask<OpenApi>('openapi.json').then(
		(api) => {
			const of = (path: string) =>
				(api.paths[path]?.get?.parameters ?? []).filter((p) => p.in === 'query');
			const common = new Set(of('/data/{id}/report').map((p) => p.name));
			return grouped(
				of('/data/{id}/allocations')
					.filter((p) => common.has(p.name))
					.map((p) => filterOf(p.name, p.description ?? '')),
			);
		},
		(error) => {
			described = undefined;
			throw error;
		},
	);
	return described;
}
