// What was allocated, leaked or freed by call site or function, of the whole recording. The API
// groups only what is in use at a moment so; the table `stacks` of SQL has the sums of each
// backtrace, and is quick to add up. It does not know filters: with them groups are backtraces
// (sites.tsx).
import { useMemo } from 'preact/hooks';
import { changed, go, inBlocks, valueOf } from '../base/address';
import { about } from '../base/ask';
import type { Column } from '../base/grid';
import { baseName, count, duration, percent, size } from '../base/format';
import type { ViewProps } from '../frame/views';
import type { Sum } from '../api/types';
import { siteFilter } from '../filters/words';
import { Place, siteName } from './frames';
import { blockSize, None, sparkPath } from './sites';
import { Spark } from './spark';
import { VirtualTable } from './virtual';

interface SumRow {
	function: string | null;
	file: string | null;
	function_short: string | null;
	line: number | null;
	module: string | null;
	bytes: number;
	blocks: number;
	leaked: number;
	min_size: number;
	max_size: number;
	first_ns: number;
	last_ns: number;
	stacks: number;
	stack: number;
	total: number;
}

const PREFIX: Record<string, string> = { leaked: 'leaked', temporary: 'temporary' };
const SORTS = ['bytes', 'blocks', 'leaked', 'stacks', 'first_ns', 'last_ns'];

function queryOf(
	what: string,
	byFunction: boolean,
	sort: string,
	order: string,
	skip: number,
	rows: number,
): string {
	const place = byFunction ? 'null as file, null as line' : 'file, line';
	// `stack` is that of the row with the greatest sum (SQLite's rule for columns beside max()).
	return (
		`select function, short_name(function) as function_short, ${place}, module, sum(` +
		`${what}_bytes) as bytes, sum(${what}_blocks) as blocks, sum(leaked_bytes) as ` +
		'leaked, min(min_size) as min_size, max(max_size) as max_size, min(first_ns) as ' +
		'first_ns, max(last_ns) as last_ns, count(*) as stacks, count(*) over () as total, ' +
		`stack, max(${what}_bytes) as most from stacks where ${what}_blocks > 0 group by ` +
		`function, module${byFunction ? '' : ', file, line'} order by ${sort}` +
		`${order === 'asc' ? '' : ' desc'}, stack limit ${rows} offset ${skip}`
	);
}

function columnsOf(
	props: ViewProps & { by: string; whole: Sum | undefined; title: string },
): Column<SumRow>[] {
	const { address, stream, by, whole, title } = props;
	const blocks = inBlocks(address);
	const value = valueOf(address);
	const only = (r: SumRow) =>
		siteFilter(by === 'function' ? { function: r.function, module: r.module } : r);
	const bytesColumn: Column<SumRow> = {
		key: 'bytes',
		title: blocks ? 'Bytes' : title,
		width: '104px',
		right: true,
		sort: 'bytes',
		cell: (r) => size(r.bytes),
	};
	const blocksColumn: Column<SumRow> = {
		key: 'blocks',
		title: blocks ? `${title}, blocks` : 'Blocks',
		width: blocks ? '130px' : '92px',
		right: true,
		sort: 'blocks',
		cell: (r) => count(r.blocks),
	};
	return [
		{
			key: 'function',
			title: by === 'function' ? 'Function' : 'Call site',
			width: 'minmax(150px, 3fr)',
			cell: (r) => <span title={r.function ?? undefined}>{siteName(r)}</span>,
		},
		...(by === 'function'
			? []
			: [
					{
						key: 'place',
						title: 'Place',
						width: 'minmax(90px, 1fr)',
						cell: (r: SumRow) => (
							<Place address={address} file={r.file} line={r.line} />
						),
					},
				]),
		{
			key: 'module',
			title: 'Module',
			width: 'minmax(80px, 1fr)',
			from: 1000,
			cell: (r) => (
				<span class="dim" title={r.module ?? undefined}>
					{baseName(r.module ?? '')}
				</span>
			),
		},
		{
			key: 'graph',
			title: 'Over time',
			hint: 'how much of it was in use over time',
			width: '110px',
			from: 780,
			cell: (r) => (
				<Spark
					path={sparkPath(stream, address, [['custom_filter', only(r)]])}
					blocks={blocks}
					live={stream.state === 'live'}
					label={`${siteName(r)} over time`}
				/>
			),
		},
		...(blocks ? [blocksColumn] : [bytesColumn]),
		{
			key: 'part',
			title: '%',
			width: '58px',
			right: true,
			cell: (r) =>
				whole
					? blocks
						? percent(r.blocks, whole.blocks)
						: percent(r.bytes, whole.bytes)
					: '',
		},
		...(blocks ? [bytesColumn] : [blocksColumn]),
		...(value === 'leaked'
			? []
			: [
					{
						key: 'leaked',
						title: 'Not freed',
						width: '98px',
						right: true,
						sort: 'leaked',
						hint: 'by the end',
						cell: (r: SumRow) => size(r.leaked),
					},
				]),
		{
			key: 'sizes',
			title: 'Block size',
			width: '150px',
			right: true,
			from: 1100,
			cell: (r) => blockSize(r.min_size, r.max_size),
		},
		{
			key: 'stacks',
			title: 'Backtraces',
			width: '98px',
			right: true,
			from: 1000,
			sort: 'stacks',
			hint: 'different ways to get there',
			cell: (r) => count(r.stacks),
		},
		{
			key: 'first',
			title: 'First',
			width: '84px',
			right: true,
			from: 1280,
			sort: 'first_ns',
			hint: 'when its first block was allocated',
			cell: (r) => duration(r.first_ns),
		},
		{
			key: 'last',
			title: 'Last',
			width: '84px',
			right: true,
			from: 1280,
			sort: 'last_ns',
			hint: 'when its last block was allocated',
			cell: (r) => duration(r.last_ns),
		},
		{
			key: 'next',
			title: '',
			width: '66px',
			from: 640,
			cell: (r) => (
				<a
					href={changed(address, {
						view: 'allocations',
						set: { custom_filter: only(r), sort: undefined, order: undefined },
					})}
					aria-label={`Blocks of ${siteName(r)}`}
				>
					Blocks
				</a>
			),
		},
	];
}

/** `by` is site or function. */
export function SumTable(props: ViewProps & { by: string; whole: Sum | undefined; title: string }) {
	const { address, stream, by, whole } = props;
	const blocks = inBlocks(address);
	const what = PREFIX[valueOf(address)] ?? 'allocated';
	const chosen = address.params.get('sort') ?? '';
	const sort = SORTS.includes(chosen) ? chosen : blocks ? 'blocks' : 'bytes';
	const order = sort === chosen && address.params.get('order') === 'asc' ? 'asc' : 'dsc';
	const columns = useMemo(
		() => columnsOf(props),
		[address.params.toString(), stream.id, stream.state, by, whole, props.title],
	);
	return (
		<VirtualTable<SumRow, { rows: SumRow[] }>
			label={by === 'function' ? 'Functions' : 'Call sites'}
			columns={columns}
			path={(skip, rows) =>
				about(stream.id, 'sql', [
					['query', queryOf(what, by === 'function', sort, order, skip, rows)],
				])
			}
			read={({ rows }) => ({ rows, total: rows[0]?.total ?? 0 })}
			keyOf={(r) => String(r.stack)}
			picked={address.params.get('picked') ?? ''}
			onPick={(r) => go({ set: { picked: String(r.stack) } }, true)}
			sort={sort}
			order={order}
			onSort={(s, o) => go({ set: { sort: s, order: o } })}
			version={stream.state === 'live' ? (stream.events ?? 0) : 0}
			none={<None address={address} />}
		/>
	);
}
