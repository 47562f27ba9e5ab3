// Call sites: by line, function or backtrace, with a graph of each over time. What is in use or was
// at the peak comes from the API, the largest first; what was allocated, leaked or freed is sorted
// by any column (sums.tsx; by backtrace, and with filters, here).
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { changed, filtersOf, go, inBlocks, valueOf, type Address } from '../base/address';
import { about, useAnswer } from '../base/ask';
import type { Column } from '../base/grid';
import { baseName, count, duration, percent, size } from '../base/format';
import { Notice, Segments } from '../base/ui';
import type { ViewProps } from '../frame/views';
import {
	nanoseconds,
	type AllocationGroup,
	type AllocationGroups,
	type Frame,
	type Report,
	type Site,
	type Sites,
	type Stream,
	type Sum,
} from '../api/types';
import { siteFilterBeside } from '../filters/words';
import { Place, SiteName, siteName, Trail, upToSite } from './frames';
import { HiddenNames, useIsHidden } from './hidden';
import { Spark } from './spark';
import { SumTable } from './sums';
import { VirtualTable } from './virtual';

const BY = [
	['site', 'Call site'],
	['function', 'Function'],
	['backtrace', 'Backtrace'],
] as const;

const GROUPS: Record<string, string> = {
	site: 'call sites',
	function: 'functions',
	backtrace: 'backtraces',
};

const NONE: Record<string, string> = {
	'in-use': 'Nothing was in use then.',
	peak: 'Nothing was in use at the peak.',
	allocated: 'Nothing was allocated.',
	leaked: 'Everything was freed.',
	temporary: 'Nothing was freed before the end.',
};

export function None(props: { address: Address; title?: string }) {
	return (
		<Notice title={props.title ?? NONE[valueOf(props.address)] ?? 'Nothing matches.'}>
			{filtersOf(props.address).length > 0 ? (
				'The filters above limit this: remove one to see more.'
			) : props.title ? null : (
				<>
					<a
						href={changed(props.address, {
							set: { value: 'allocated', at: undefined },
						})}
					>
						Allocated
					</a>{' '}
					is all of the recording, and the{' '}
					<a href={changed(props.address, { view: 'account' })}>account</a> says whether
					it is whole.
				</>
			)}
		</Notice>
	);
}

export function blockSize(least: number, most: number): string {
	return least === most ? size(least) : `${size(least)} – ${size(most)}`;
}

/** The question for a small graph of what matches these filters besides those of the address. */
export function sparkPath(stream: Stream, address: Address, own: [string, string][]): string {
	const names = new Set(own.map(([name]) => name));
	return about(stream.id, 'timeline', [
		['points', 60],
		['start', address.params.get('start') ?? undefined],
		['end', address.params.get('end') ?? undefined],
		...filtersOf(address).filter(([name]) => !names.has(name)),
		...own,
	]);
}

type SiteRow = Site & { whole: Sum };

function siteColumns(props: ViewProps, by: string): Column<SiteRow>[] {
	const { address, stream } = props;
	const blocks = inBlocks(address);
	const value = valueOf(address);
	const condition = address.params.get('custom_filter');
	return [
		{
			key: 'function',
			title: by === 'function' ? 'Function' : 'Call site',
			width: 'minmax(150px, 3fr)',
			cell: (g) => <SiteName site={g} />,
		},
		...(by === 'function'
			? []
			: [
					{
						key: 'place',
						title: 'Place',
						width: 'minmax(118px, 1fr)',
						from: 560,
						cell: (g: SiteRow) => (
							<Place address={address} file={g.file} line={g.line} />
						),
					},
				]),
		{
			key: 'module',
			title: 'Module',
			width: 'minmax(80px, 1fr)',
			from: 940,
			cell: (g) => (
				<span class="dim" title={g.module ?? undefined}>
					{baseName(g.module ?? '')}
				</span>
			),
		},
		{
			key: 'graph',
			title: 'Over time',
			hint: 'how much of it was in use over time',
			width: '110px',
			from: 800,
			cell: (g) => {
				const own: [string, string] =
					by === 'backtrace'
						? ['backtraces', String(g.backtrace_id)]
						: [
								'custom_filter',
								siteFilterBeside(
									condition,
									by === 'function'
										? { function: g.function, module: g.module }
										: g,
								),
							];
				return (
					<Spark
						path={sparkPath(stream, address, [own])}
						blocks={blocks}
						live={stream.state === 'live'}
						label={`${siteName(g)} over time`}
					/>
				);
			},
		},
		{
			key: 'value',
			title: value === 'peak' ? 'At the peak' : 'In use',
			width: '104px',
			right: true,
			cell: (g) => (blocks ? count(g.value.blocks) : size(g.value.bytes)),
		},
		{
			key: 'part',
			title: '%',
			width: '58px',
			right: true,
			cell: (g) =>
				blocks
					? percent(g.value.blocks, g.whole.blocks)
					: percent(g.value.bytes, g.whole.bytes),
		},
		{
			key: 'other',
			title: blocks ? 'Bytes' : 'Blocks',
			width: '100px',
			right: true,
			cell: (g) => (blocks ? size(g.value.bytes) : count(g.value.blocks)),
		},
		{
			key: 'allocated',
			title: 'Allocated',
			width: '90px',
			right: true,
			hint: 'in all, freed or not',
			cell: (g) => size(g.allocated.bytes),
		},
		{
			key: 'leaked',
			title: 'Not freed',
			width: '90px',
			right: true,
			hint: 'by the end',
			cell: (g) => size(g.leaked.bytes),
		},
		{
			key: 'sizes',
			title: 'Block size',
			width: '150px',
			right: true,
			from: 1020,
			cell: (g) => blockSize(g.min_size, g.max_size),
		},
	];
}

function SiteTable(props: ViewProps & { by: string }) {
	const { address, stream, by } = props;
	const moment = valueOf(address) === 'peak' ? 'peak' : 'snapshot';
	const blocks = inBlocks(address);
	const columns = useMemo(
		() => siteColumns(props, by),
		[address.params.toString(), stream.id, stream.state, by],
	);
	return (
		<VirtualTable<SiteRow, Sites>
			label="Call sites"
			columns={columns}
			path={(skip, rows) =>
				about(stream.id, moment, [
					['by', by],
					[
						'at',
						moment === 'snapshot' ? (address.params.get('at') ?? undefined) : undefined,
					],
					...filtersOf(address),
					['skip', skip || undefined],
					['count', rows],
				])
			}
			read={(answer) => ({
				rows: answer.groups.map((g) => ({ ...g, whole: answer.total })),
				total: answer.group_count,
			})}
			keyOf={(g) => String(g.backtrace_id)}
			picked={address.params.get('picked') ?? ''}
			onPick={(g) => go({ set: { picked: String(g.backtrace_id) } }, true)}
			sort={blocks ? '' : 'value'}
			order="dsc"
			version={stream.state === 'live' ? (stream.events ?? 0) : 0}
			none={<None address={address} />}
		/>
	);
}

const LIFETIME: Record<string, string | undefined> = {
	leaked: 'only_leaked',
	temporary: 'only_freed',
};

/** Columns of groups of blocks by backtrace, which two views have. */
export function groupColumns(
	props: ViewProps,
	whole: Sum | undefined,
	title: string,
	value: string,
	isHidden: (frame: Frame) => boolean,
): Column<AllocationGroup>[] {
	const { address, stream } = props;
	const blocks = inBlocks(address);
	const shown = (g: AllocationGroup) => upToSite(g.backtrace, isHidden);
	const last = (g: AllocationGroup) => shown(g).at(-1);
	const time = (ns: number) => duration(ns);
	const sum: Column<AllocationGroup> = {
		key: 'size',
		title,
		width: '112px',
		right: true,
		sort: 'only_matched.size',
		cell: (g) => size(g.only_matched.size),
	};
	const number: Column<AllocationGroup> = {
		key: 'count',
		title: blocks ? `${title}, blocks` : 'Blocks',
		width: blocks ? '130px' : '108px',
		right: true,
		sort: 'only_matched.allocated_count',
		cell: (g) => count(g.only_matched.allocated_count),
	};
	const part = (g: AllocationGroup) =>
		whole
			? blocks
				? percent(g.only_matched.allocated_count, whole.blocks)
				: percent(g.only_matched.size, whole.bytes)
			: '';
	return [
		{
			key: 'trail',
			title: 'Backtrace, from the call site',
			width: 'minmax(170px, 4fr)',
			cell: (g) => <Trail frames={shown(g)} />,
		},
		{
			key: 'place',
			title: 'Place',
			width: 'minmax(100px, 1fr)',
			from: 900,
			cell: (g) => <Place address={address} file={last(g)?.source} line={last(g)?.line} />,
		},
		{
			key: 'module',
			title: 'Module',
			width: 'minmax(80px, 1fr)',
			from: 1100,
			cell: (g) => (
				<span class="dim" title={last(g)?.library}>
					{baseName(last(g)?.library ?? '')}
				</span>
			),
		},
		{
			key: 'graph',
			title: 'Over time',
			hint: 'how much of it was in use over time',
			width: '110px',
			from: 800,
			cell: (g) => (
				<Spark
					path={sparkPath(stream, address, [['backtraces', String(g.backtrace_id)]])}
					blocks={blocks}
					live={stream.state === 'live'}
					label={`backtrace ${g.backtrace_id} over time`}
				/>
			),
		},
		...(blocks ? [number] : [sum]),
		{ key: 'part', title: '%', width: '58px', right: true, cell: part },
		...(blocks ? [sum] : [number]),
		...(value === 'allocated'
			? [
					{
						key: 'leaked',
						title: 'Not freed',
						width: '100px',
						right: true,
						hint: 'blocks of these that were not freed by the end',
						sort: 'only_matched.leaked_count',
						cell: (g: AllocationGroup) => count(g.only_matched.leaked_count),
					},
				]
			: []),
		{
			key: 'sizes',
			title: 'Block size',
			width: '150px',
			right: true,
			from: 1000,
			cell: (g) => blockSize(g.only_matched.min_size, g.only_matched.max_size),
		},
		{
			key: 'first',
			title: 'First',
			width: '84px',
			right: true,
			from: 1200,
			sort: 'only_matched.min_timestamp',
			hint: 'when its first block was allocated',
			cell: (g) => time(nanoseconds(g.only_matched.min_timestamp_relative)),
		},
		{
			key: 'last',
			title: 'Last',
			width: '84px',
			right: true,
			from: 1200,
			sort: 'only_matched.max_timestamp',
			hint: 'when its last block was allocated',
			cell: (g) => time(nanoseconds(g.only_matched.max_timestamp_relative)),
		},
		{
			key: 'peak',
			title: 'Most in use',
			width: '110px',
			right: true,
			from: 1300,
			sort: 'all.max_total_usage_first_seen_at',
			hint: 'when most of its bytes were in use',
			cell: (g) => time(nanoseconds(g.all.max_total_usage_first_seen_at_relative)),
		},
		{
			key: 'next',
			title: '',
			width: '66px',
			from: 560,
			cell: (g) => (
				<a
					href={changed(address, {
						view: 'allocations',
						set: { backtraces: String(g.backtrace_id), value },
					})}
					aria-label={`Blocks of backtrace ${g.backtrace_id}`}
				>
					Blocks
				</a>
			),
		},
	];
}

/** Blocks grouped by backtrace. `own` are filters besides those of the address. */
export function GroupTable(
	props: ViewProps & {
		own: [string, string][];
		title: string;
		value: string;
		whole: Sum | undefined;
		sort?: string;
		none: ComponentChildren;
	},
) {
	const { address, stream, own, whole } = props;
	const blocks = inBlocks(address);
	const isHidden = useIsHidden(stream.id, address);
	const columns = useMemo(
		() => groupColumns(props, whole, props.title, props.value, isHidden),
		[address.params.toString(), stream.id, stream.state, whole, props.title, isHidden],
	);
	const chosen = address.params.get('sort');
	const sort = columns.some((c) => c.sort === chosen)
		? chosen!
		: (props.sort ?? (blocks ? 'only_matched.allocated_count' : 'only_matched.size'));
	const order = sort === chosen && address.params.get('order') === 'asc' ? 'asc' : 'dsc';
	return (
		<VirtualTable<AllocationGroup, AllocationGroups>
			label="Backtraces"
			columns={columns}
			path={(skip, rows) =>
				about(stream.id, 'allocation_groups', [
					...filtersOf(address),
					...own,
					['sort_by', sort],
					['order', order],
					['skip', skip || undefined],
					['count', rows],
				])
			}
			read={(answer) => ({ rows: answer.allocations, total: answer.total_count })}
			keyOf={(g) => String(g.backtrace_id)}
			picked={address.params.get('picked') ?? ''}
			onPick={(g) => go({ set: { picked: String(g.backtrace_id) } }, true)}
			sort={sort}
			order={order}
			onSort={(s, o) => go({ set: { sort: s, order: o } })}
			version={stream.state === 'live' ? (stream.events ?? 0) : 0}
			none={props.none}
		/>
	);
}

export function SitesView(props: ViewProps) {
	const { address, stream } = props;
	const value = valueOf(address);
	const ofMoment = value === 'peak' || value === 'in-use';
	const by = BY.find(([name]) => name === address.params.get('by'))?.[0] ?? 'site';
	// Sums by call site over all time are those of the whole recording.
	const byBacktrace = !ofMoment && filtersOf(address).length > 0;
	const lifetime = LIFETIME[value];
	const own: [string, string][] = lifetime ? [['lifetime', lifetime]] : [];
	const version = stream.state === 'live' ? (stream.events ?? 0) : 0;
	const report = useAnswer<Report>(
		ofMoment ? null : about(stream.id, 'report', filtersOf(address)),
		version,
	).data;
	const moment = useAnswer<Sites>(
		ofMoment
			? about(stream.id, value === 'peak' ? 'peak' : 'snapshot', [
					['by', by],
					[
						'at',
						value === 'in-use' ? (address.params.get('at') ?? undefined) : undefined,
					],
					...filtersOf(address),
					['count', 0],
				])
			: null,
		version,
	).data;
	const whole =
		report &&
		(value === 'leaked'
			? report.leaked
			: value === 'temporary'
				? report.temporary
				: report.allocated);
	const title = value === 'leaked' ? 'Not freed' : value === 'temporary' ? 'Freed' : 'Allocated';

	return (
		<div class="tableview">
			<div class="tools">
				{!byBacktrace && (
					<Segments
						label="Grouped by"
						options={BY}
						chosen={by}
						onChoose={(b) => go({ set: { by: b === 'site' ? undefined : b } })}
					/>
				)}
				<span class="dim" role="status">
					{ofMoment
						? moment &&
							moment.total.blocks > 0 &&
							`${size(moment.total.bytes)} in ${count(moment.total.blocks)}` +
								` blocks of ${count(moment.group_count)} ${GROUPS[by]}`
						: whole &&
							whole.blocks > 0 &&
							`${size(whole.bytes)} in ${count(whole.blocks)} blocks` +
								`${byBacktrace ? ', by backtrace while there are filters' : ''}`}
				</span>
				<HiddenNames {...props} />
			</div>
			{ofMoment ? (
				<SiteTable {...props} by={by} />
			) : byBacktrace || by === 'backtrace' ? (
				<GroupTable
					{...props}
					own={own}
					title={title}
					value={value}
					whole={whole}
					none={<None address={address} />}
				/>
			) : (
				<SumTable {...props} by={by} title={title} whole={whole} />
			)}
		</div>
	);
}
