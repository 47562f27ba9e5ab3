// Single allocations: a row a block, and of the one that is selected all that is known.
import { useMemo } from 'preact/hooks';
import { filtersOf, go, valueOf, type Address } from '../base/address';
import { about, useAnswer } from '../base/ask';
import { count, duration, size } from '../base/format';
import { Answered } from '../base/ui';
import type { ViewProps } from '../frame/views';
import {
	nanoseconds,
	type Allocation,
	type Allocations,
	type Frame,
	type Ledger,
} from '../api/types';
import { nameOf, Place, Trail, upToSite } from '../table/frames';
import { useIsHidden } from '../table/hidden';
import { None } from '../table/sites';
import type { Column } from '../base/grid';
import { VirtualTable } from '../table/virtual';
import { BlockPanel } from './block';
import { matchedInWords, useMatched } from './matched';
import './allocations.css';

const SORTS = ['timestamp', 'size', 'address'];

/** 0 is no thread: what an exec ended. */
export function byOther(a: Allocation): boolean {
	return !!a.deallocation?.thread && a.deallocation.thread !== a.thread;
}

/** How a block ended, in a few words. */
export function endInWords(a: Allocation): string {
	if (!a.deallocation) return 'not freed';
	const end =
		a.chain_deallocation || a.position_in_chain + 1 < a.chain_length
			? 'moved by realloc'
			: 'freed';
	return byOther(a) ? `${end}, other thread` : end;
}

/** Nanoseconds from its birth to its end; undefined: it had none. */
export function livedFor(a: Allocation): number | undefined {
	return a.deallocation && nanoseconds(a.deallocation.timestamp) - nanoseconds(a.timestamp);
}

/** What ended within the tick of the recording's clock lived for 0. */
export function livedInWords(ns: number): string {
	return ns > 0 ? duration(ns) : '< 1 µs';
}

export function useThreadNames(stream: string, version: number): Map<number, string> {
	const { data } = useAnswer<Ledger>(about(stream, 'ledger'), version);
	return useMemo(() => new Map((data?.threads ?? []).map((t) => [t.tid, t.name])), [data]);
}

function columnsOf(
	names: Map<number, string>,
	address: Address,
	isHidden: (frame: Frame) => boolean,
): Column<Allocation>[] {
	const shown = (a: Allocation) => upToSite(a.backtrace, isHidden);
	return [
		{
			key: 'trail',
			title: 'Backtrace, from the call site',
			width: 'minmax(170px, 4fr)',
			cell: (a) => <Trail frames={shown(a)} />,
		},
		{
			key: 'place',
			title: 'Place',
			width: 'minmax(110px, 1fr)',
			from: 900,
			cell: (a) => (
				<Place
					address={address}
					file={shown(a).at(-1)?.source}
					line={shown(a).at(-1)?.line}
				/>
			),
		},
		{
			key: 'time',
			title: 'Time',
			width: '92px',
			right: true,
			sort: 'timestamp',
			hint: 'when it was allocated, since the start',
			cell: (a) => duration(nanoseconds(a.timestamp_relative)),
		},
		{
			key: 'size',
			title: 'Size',
			width: '84px',
			right: true,
			sort: 'size',
			cell: (a) => <span title={`${count(a.size)} bytes`}>{size(a.size)}</span>,
		},
		{
			key: 'lived',
			title: 'Lived',
			width: '88px',
			right: true,
			cell: (a) => {
				const lived = livedFor(a);
				return lived === undefined ? <span class="dim">–</span> : livedInWords(lived);
			},
		},
		{
			key: 'end',
			title: 'End',
			width: 'minmax(146px, 1fr)',
			cell: (a) => (
				<span
					class={a.deallocation ? 'dim' : ''}
					title={
						a.deallocation?.backtrace?.length
							? `by ${nameOf(a.deallocation.backtrace.at(-1))}`
							: undefined
					}
				>
					{endInWords(a)}
				</span>
			),
		},
		{
			key: 'thread',
			title: 'Thread',
			width: 'minmax(80px, 1fr)',
			from: 860,
			cell: (a) => (
				<span class="dim" title={`tid ${a.thread}`}>
					{names.get(a.thread) || a.thread}
				</span>
			),
		},
		{
			key: 'address',
			title: 'Address',
			width: '138px',
			from: 980,
			sort: 'address',
			cell: (a) => <code class="dim">0x{a.address_s.replace(/^0+/, '').toLowerCase()}</code>,
		},
	];
}

function List(props: ViewProps & { matched: [string, string][]; version: number }) {
	const { address, stream, matched } = props;
	const names = useThreadNames(stream.id, props.version);
	const isHidden = useIsHidden(stream.id, address);
	const columns = useMemo(
		() => columnsOf(names, address, isHidden),
		[names, address.params.toString(), isHidden],
	);
	const chosen = address.params.get('sort') ?? '';
	const sort = SORTS.includes(chosen) ? chosen : 'timestamp';
	const order = sort === chosen ? (address.params.get('order') === 'dsc' ? 'dsc' : 'asc') : 'asc';
	const total = useAnswer<Allocations>(
		about(stream.id, 'allocations', [...matched, ['count', 0]]),
		props.version,
	).data?.total_count;
	const block = address.params.get('block');

	return (
		<div class={block ? 'tableview with-block' : 'tableview'}>
			<div class="tools">
				<span class="dim" role="status">
					{total !== undefined &&
						`${count(total)} ${total === 1 ? 'allocation' : 'allocations'}` +
							`${matchedInWords(address) ? `, ${matchedInWords(address)}` : ''}`}
				</span>
			</div>
			<VirtualTable<Allocation, Allocations>
				label="Allocations"
				columns={columns}
				path={(skip, rows) =>
					about(stream.id, 'allocations', [
						...matched,
						['sort_by', sort],
						['order', order],
						['skip', skip || undefined],
						['count', rows],
					])
				}
				read={(answer) => ({ rows: answer.allocations, total: answer.total_count })}
				keyOf={(a) => String(a.id)}
				picked={block ?? ''}
				onPick={(a) =>
					go({ set: { block: String(a.id), picked: String(a.backtrace_id) } }, true)
				}
				sort={sort}
				order={order}
				onSort={(s, o) => go({ set: { sort: s, order: o } })}
				version={props.version}
				question={[
					stream.id,
					valueOf(address),
					address.params.get('at'),
					...filtersOf(address),
					sort,
					order,
				].join(' ')}
				none={<None address={address} />}
			/>
			{block && <BlockPanel {...props} block={block} names={names} />}
		</div>
	);
}

export function AllocationsView(props: ViewProps) {
	const version = props.stream.state === 'live' ? (props.stream.events ?? 0) : 0;
	const matched = useMatched(props.address, props.stream, version);
	return (
		<Answered answer={{ ...(matched ? { data: matched } : {}) }}>
			{(filters) => <List {...props} matched={filters} version={version} />}
		</Answered>
	);
}
