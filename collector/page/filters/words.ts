// Filters in words, for the chips of the bar: "size ≥ 1 KiB", "lived 100 ms – 2 s", "through
// ^parse_". The two ends of a range are one chip.
import { count, duration, size } from '../base/format';

/** A size as the server takes it: "4096", "4K", "1.5M". */
export function bytesOf(text: string): number | undefined {
	const [, number, unit] = /^([\d.]+)\s*([KMGTP]?)i?B?$/i.exec(text.trim()) ?? [];
	if (!number || Number.isNaN(Number(number))) return undefined;
	return Number(number) * 1024 ** ' KMGTP'.indexOf((unit ?? '').toUpperCase() || ' ');
}

/** As it is shown elsewhere; what is not understood stays as it is. */
function sizeInWords(text: string): string {
	const bytes = bytesOf(text);
	if (bytes === undefined) return text;
	const [number, unit] = size(bytes).split(' ');
	// What three digits can't say is said in bytes.
	if (bytesOf(`${number}${unit!.charAt(0).replace('B', '')}`) !== bytes)
		return `${count(bytes)} B`;
	return size(bytes).replace(/\.0+(?= )|(\.\d*?)0+(?= )/, '$1');
}

const UNITS: Record<string, number> = {
	ns: 1,
	us: 1e3,
	µs: 1e3,
	ms: 1e6,
	s: 1e9,
	m: 60e9,
	h: 3600e9,
	d: 86400e9,
};

/** A duration as the server takes it: "10" (seconds), "100ms", "4h3m2s". */
export function nanosecondsOf(text: string): number | undefined {
	const trimmed = text.trim();
	if (/^[\d.]+$/.test(trimmed)) return Number(trimmed) * 1e9;
	if (!/^([\d.]+(ns|us|µs|ms|[smhd]))+$/.test(trimmed)) return undefined;
	let ns = 0;
	for (const [, number, unit] of trimmed.matchAll(/([\d.]+)(ns|us|µs|ms|[smhd])/g))
		ns += Number(number) * UNITS[unit!]!;
	return ns;
}

function durationInWords(text: string): string {
	const ns = nanosecondsOf(text);
	return ns === undefined
		? text.replace('%', ' %')
		: duration(ns).replace(/(\d)\.0+(?= )|(\.\d*?[1-9])0+(?= )/, '$1$2');
}

/** A number of at least 1e9 is a time since the epoch, and stays so. */
function timeInWords(text: string): string {
	return /^[\d.]+$/.test(text) && Number(text) >= 1e9 ? text : durationInWords(text);
}

function countInWords(text: string): string {
	return /^\d+$/.test(text) ? count(Number(text)) : text.replace('%', ' %');
}

/** Filters with two ends: what they are called, and how a value is shown. */
const RANGES: Record<string, [string, (text: string) => string]> = {
	size: ['size', sizeInWords],
	lifetime: ['lived', durationInWords],
	address: ['address', (a) => a],
	backtrace_depth: ['stack', (n) => `${countInWords(n)} frames`],
	first_size: ['first size', sizeInWords],
	last_size: ['last size', sizeInWords],
	chain_length: ['realloc chain', (n) => `${countInWords(n)} blocks`],
	chain_lifetime: ['realloc chain lived', durationInWords],
	position_in_chain: ['reallocs before', countInWords],
	group_allocations: ['allocations of the backtrace', countInWords],
	group_leaked_allocations: ['not freed of the backtrace', countInWords],
	group_interval: ['backtrace allocates for', durationInWords],
	group_max_total_usage_first_seen: ['most of the backtrace in use at', timeInWords],
	peak_rss: ['most resident', sizeInWords],
};

const LIFETIMES: Record<string, string> = {
	all: 'freed or not',
	only_leaked: 'not freed',
	only_freed: 'freed',
	only_chain_leaked: 'realloc chain not freed',
	only_whole_group_leaked: 'backtrace that freed nothing',
	only_deallocated_in_current_range: 'freed in the range',
	only_not_deallocated_in_current_range: 'not freed in the range',
};

const yesOrNo = (yes: string, no: string) => (value: string) =>
	value === 'yes' ? yes : value === 'no' ? no : `${yes}: ${value}`;

const WORDS: Record<string, (value: string) => string> = {
	from: (v) => `allocated from ${timeInWords(v)}`,
	to: (v) => `allocated until ${timeInWords(v)}`,
	lifetime: (v) => LIFETIMES[v] ?? `lifetime ${v}`,
	alive_at: (v) => `in use at ${timeInWords(v)}`,
	alive_at_2: (v) => `and in use at ${timeInWords(v)}`,
	function_regex: (v) => `through ${v}`,
	negative_function_regex: (v) => `not through ${v}`,
	source_regex: (v) => `through file ${v}`,
	negative_source_regex: (v) => `not through file ${v}`,
	module: (v) => `module ${v.slice(v.lastIndexOf('/') + 1) || v}`,
	backtraces: (v) => `backtrace ${v}`,
	deallocation_backtraces: (v) => `freed by backtrace ${v}`,
	thread: (v) => `thread ${v}`,
	thread_name: (v) => `thread named ${v}`,
	tag: (v) => `label ${v}`,
	temporary: yesOrNo('temporary', 'not temporary'),
	mmaped: yesOrNo('has a mapping of its own', 'has no mapping of its own'),
	jemalloc: yesOrNo('from jemalloc', 'not from jemalloc'),
	arena: (v) =>
		v === 'main' ? 'main arena' : v === 'non_main' ? 'not the main arena' : `arena ${v}`,
	marker: (v) => `marker ${v}`,
	from_map: (v) => `in map ${v}`,
	hide: (v) =>
		v === 'none' || v === 'no'
			? 'with what only passes on'
			: v === 'rules'
				? 'without what passes on by name'
				: 'without what only passes on',
	custom_filter: (v) => siteInWords(v) ?? `where ${v}`,
};

/** A regular expression for this name and no other. */
export function exactly(name: string): string {
	return `^${name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`;
}

export interface SiteKey {
	function?: string | null | undefined;
	file?: string | null | undefined;
	line?: number | null | undefined;
	module?: string | null | undefined;
}

const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;

/**
 * The filter (custom_filter) of one call site: sums by it are what its row in a table has. By
 * backtraces, which the server finds quickly.
 */
export function siteFilter(site: SiteKey): string {
	const is = (column: string, value: string | null | undefined) =>
		`${column} is ${value == null ? 'null' : quoted(value)}`;
	return `stack in (select stack from stacks where ${[
		is('function', site.function),
		...(site.file || site.line
			? [is('file', site.file), `line is ${site.line || 'null'}`]
			: []),
		...(site.module == null ? [] : [is('module', site.module)]),
	].join(' and ')})`;
}

/** The same besides a condition that there is already. */
export function siteFilterBeside(condition: string | null, site: SiteKey): string {
	return condition && condition !== siteFilter(site)
		? `(${condition}) and ${siteFilter(site)}`
		: siteFilter(site);
}

function siteInWords(condition: string): string | undefined {
	const [, name, rest] =
		/^stack in \(select stack from stacks where function is (null|'(?:[^']|'')*')(.*)\)$/.exec(
			condition,
		) ?? [];
	if (name === undefined) return undefined;
	const text = (sql: string | undefined) =>
		sql?.startsWith("'") ? sql.slice(1, -1).replaceAll("''", "'") : '';
	const file = text(/ and file is ('(?:[^']|'')*')/.exec(rest!)?.[1]);
	const line = / and line is (\d+)/.exec(rest!)?.[1];
	return (
		`call site ${text(name) || 'unknown'}` +
		`${file ? ` at ${file.slice(file.lastIndexOf('/') + 1)}${line ? `:${line}` : ''}` : ''}`
	);
}

export interface Chip {
	text: string;
	/** Of the filters that go with it. */
	names: string[];
}

/** One filter in words. */
export function inWords(name: string, value: string): string {
	const known = WORDS[name];
	if (known) return known(value);
	const [, base, end] = /^(.*)_(min|max)$/.exec(name) ?? [];
	if (!base) return `${name.replaceAll('_', ' ')} ${value}`;
	const [title, show] = RANGES[base] ?? [base.replaceAll('_', ' '), (text: string) => text];
	return `${title} ${end === 'min' ? '≥' : '≤'} ${show(value)}`;
}

export function chips(filters: [string, string][]): Chip[] {
	const values = new Map(filters);
	const done = new Set<string>();
	const all: Chip[] = [];
	for (const [name, value] of filters) {
		if (done.has(name)) continue;
		done.add(name);
		const base = name.replace(/_(min|max)$/, '');
		const [low, high] =
			name === 'from' || name === 'to' ? ['from', 'to'] : [`${base}_min`, `${base}_max`];
		const from = values.get(low);
		const to = values.get(high);
		if ((name === low || name === high) && from !== undefined && to !== undefined) {
			done.add(low).add(high);
			const [title, show] =
				low === 'from'
					? ['allocated', timeInWords]
					: (RANGES[base] ?? [base.replaceAll('_', ' '), (text: string) => text]);
			all.push({
				text:
					show(from) === show(to)
						? `${title} ${show(from)}`
						: `${title} ${show(from)} – ${show(to)}`,
				names: [low, high],
			});
		} else {
			all.push({ text: inWords(name, value), names: [name] });
		}
	}
	return all;
}
