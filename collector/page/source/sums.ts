// What lines of the sources allocated, by call site: for the list of files, and where the text of a
// file is not at hand.
import { useMemo } from 'preact/hooks';
import { filtersOf, valueOf, type Address } from '../base/address';
import { about, useAnswer, type Answer } from '../base/ask';
import type { Rows, Script, Sites, Stream } from '../api/types';

export interface LineSum {
	file: string;
	line: number;
	function: string;
	bytes: number;
	blocks: number;
	/** The heaviest one; 0: not known. */
	backtrace: number;
}

const MOST = 20000;
const CONDITIONS = { allocated: 'not survivor', leaked: 'leaked', temporary: 'freed' } as const;

/**
 * Sums of all allocations are in the table of backtraces already; with filters each is looked at.
 * `stack` is of the row that `most` is of.
 */
function statement(value: keyof typeof CONDITIONS, filtered: string | undefined): string {
	const group = `group by file, line, 3 order by bytes desc limit ${MOST}`;
	if (filtered === undefined)
		return (
			`select file, line, short_name(function) as function, sum(${value}_bytes) as ` +
			`bytes, sum(${value}_blocks) as blocks, max(${value}_bytes) as most, stack from ` +
			`stacks where file is not null ${group}`
		);
	return (
		'select file, line, short_name(function) as function, sum(bytes) as bytes, ' +
		`sum(blocks) as blocks, max(bytes) as most, stack from (${filtered}) where file is ` +
		`not null and ${CONDITIONS[value]} ${group}`
	);
}

export function useLineSums(address: Address, stream: Stream, version: number): Answer<LineSum[]> {
	const value = valueOf(address);
	const filters = filtersOf(address);
	const byMoment = value === 'peak' || value === 'in-use';
	const at = value === 'in-use' ? (address.params.get('at') ?? undefined) : undefined;
	const sites = useAnswer<Sites>(
		byMoment
			? about(stream.id, value === 'peak' ? 'peak' : 'snapshot', [
					['count', MOST],
					['at', at],
					...filters,
				])
			: null,
		version,
	);
	const script = useAnswer<Script>(
		!byMoment && filters.length
			? about(stream.id, 'allocation_filter_to_script', filters)
			: null,
	);
	const query =
		byMoment || (filters.length && !script.data)
			? undefined
			: statement(value, filters.length ? script.data!.code : undefined);
	const rows = useAnswer<Rows>(
		query ? about(stream.id, 'sql', [['query', query]]) : null,
		version,
	);

	const data = useMemo<LineSum[] | undefined>(() => {
		if (byMoment)
			return sites.data?.groups.flatMap((g) =>
				g.file
					? [
							{
								file: g.file,
								line: g.line ?? 0,
								function: g.function_short ?? g.function ?? '',
								bytes: g.value.bytes,
								blocks: g.value.blocks,
								backtrace: g.backtrace_id,
							},
						]
					: [],
			);
		return rows.data?.rows.flatMap((r) =>
			Number(r.bytes) > 0
				? [
						{
							file: String(r.file),
							line: Number(r.line ?? 0),
							function: String(r.function ?? ''),
							bytes: Number(r.bytes),
							blocks: Number(r.blocks),
							backtrace: Number(r.stack ?? 0),
						},
					]
				: [],
		);
	}, [byMoment, sites.data, rows.data]);
	const asked = byMoment ? sites : script.error ? script : rows;
	return {
		...(data ? { data } : {}),
		...(asked.error ? { error: asked.error } : {}),
		...(asked.waitingSince === undefined ? {} : { waitingSince: asked.waitingSince }),
	};
}

export interface FileSum {
	file: string;
	bytes: number;
	blocks: number;
	lines: number;
}

export function filesOf(lines: LineSum[]): FileSum[] {
	const files = new Map<string, FileSum>();
	for (const l of lines) {
		const file = files.get(l.file) ?? { file: l.file, bytes: 0, blocks: 0, lines: 0 };
		file.bytes += l.bytes;
		file.blocks += l.blocks;
		file.lines++;
		files.set(l.file, file);
	}
	return [...files.values()].sort((a, b) => b.bytes - a.bytes);
}
