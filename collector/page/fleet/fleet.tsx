// All recordings that this collector has, live ones moving. Two that are picked are compared.
import { useState } from 'preact/hooks';
import { changed, go, type Address } from '../base/address';
import { useAnswer, about } from '../base/ask';
import { baseName, count, duration, shortCount, size, stateInWords, when } from '../base/format';
import { Grid, sorted, type Column } from '../base/grid';
import { Notice, Segments } from '../base/ui';
import { useFleet } from '../frame/fleet_state';
import { Import, Imports } from '../imports/drop';
import { Orders } from '../orders/orders';
import { Snapshots } from '../orders/snapshots';
import { TakeSnapshot } from '../orders/take';
import { Differences } from './differences';
import { matches, selector } from './select';
import { Owner, Shared, useShared, wentOn } from './shared';
import type { SharedStream } from '../api/answers';
import { nanoseconds, type Stream, type Timeline } from '../api/types';

/** What a column is sorted by. */
const KEYS: Record<string, (s: Stream) => number | string> = {
	program: (s) => s.name,
	host: (s) => s.host ?? '',
	pid: (s) => s.pid ?? 0,
	state: (s) => s.state,
	began: (s) => nanoseconds(s.timestamp),
	ran: (s) => nanoseconds(s.runtime),
	heap: (s) => s.final_allocated,
	blocks: (s) => s.final_allocated_count,
	events: (s) => s.events ?? 0,
	rate: (s) => s.events_per_second ?? 0,
};

const WORDS = ['program', 'host', 'state']; // sorted from A to Z, unless asked otherwise

/** What was in use over all of its time. Each point has the most at any moment of it. */
function useTimeline(stream: Stream): Timeline | undefined {
	return useAnswer<Timeline>(
		about(stream.id, 'timeline', [['points', 60]]),
		stream.state === 'live' ? (stream.events ?? 0) : 0,
	).data;
}

/** What a program that runs has in use now: the list is some seconds behind. */
function LiveHeap(props: { stream: Stream }) {
	return (
		<>
			{size(
				useTimeline(props.stream)?.allocated_size_last.at(-1) ??
					props.stream.final_allocated,
			)}
		</>
	);
}

function Peak(props: { stream: Stream }) {
	const data = useTimeline(props.stream);
	return <>{data && size(Math.max(0, ...data.allocated_size))}</>;
}

/** The same, small. */
function Line(props: { stream: Stream }) {
	const data = useTimeline(props.stream);
	if (!data || data.allocated_size.length < 2) return <svg class="line" aria-hidden="true" />;
	const most = Math.max(1, ...data.allocated_size);
	const path = data.allocated_size
		.map(
			(bytes, i) =>
				`${i ? 'L' : 'M'}` +
				`${((i * 90) / (data.allocated_size.length - 1)).toFixed(1)} ` +
				`${(17 - (16 * bytes) / most).toFixed(1)}`,
		)
		.join('');
	return (
		<svg class="line" viewBox="0 0 90 18" aria-label={`at most ${size(most)}`} role="img">
			<path d={`${path}L90 18L0 18z`} />
		</svg>
	);
}

function Program(props: { stream: Stream; address: Address }) {
	const { stream: s, address } = props;
	const id = s.id.slice(0, 12);
	return (
		<span class="program" title={s.cmdline}>
			{s.incomplete && (
				<a
					class="warning"
					href={changed(address, { stream: id, view: 'account', fresh: true })}
					title={s.incomplete}
				>
					⚠ incomplete
				</a>
			)}
			<a href={changed(address, { stream: id, view: 'overview', fresh: true })}>
				{s.name || baseName(s.executable)}
			</a>{' '}
			<span class="dim">{s.cmdline.replace(/^\S+\s*/, '')}</span>
		</span>
	);
}

function columnsOf(
	address: Address,
	tagged: boolean,
	picked: string[],
	elsewhere: Map<string, SharedStream>,
	onPick: (id: string) => void,
): Column<Stream>[] {
	return [
		{
			key: 'pick',
			title: 'Compare',
			silent: true,
			width: '40px',
			class: 'bare',
			cell: (s) => (
				<input
					type="checkbox"
					checked={picked.includes(s.id)}
					onChange={() => onPick(s.id)}
					aria-label={`Pick ${s.name} ${s.pid ?? ''} to compare it`}
				/>
			),
		},
		{
			key: 'program',
			title: 'Program',
			sort: 'program',
			width: 'minmax(150px, 1fr)',
			cell: (s) => <Program stream={s} address={address} />,
		},
		{
			key: 'host',
			title: 'Host',
			sort: 'host',
			width: '110px',
			from: 700,
			cell: (s) => <span title={s.host ?? undefined}>{s.host}</span>,
		},
		...(tagged
			? [
					{
						key: 'tags',
						title: 'Tags',
						width: 'minmax(90px, 200px)',
						from: 1000,
						cell: (s: Stream) => <span title={s.tags}>{s.tags}</span>,
					},
				]
			: []),
		{
			key: 'pid',
			title: 'PID',
			sort: 'pid',
			width: '76px',
			right: true,
			from: 700,
			cell: (s) => s.pid || '',
		},
		{
			key: 'state',
			title: 'State',
			sort: 'state',
			width: '104px',
			cell: (s) =>
				s.state === 'interrupted' && elsewhere.has(s.id) ? (
					<span class="state" title="went on at another collector">
						→ <Owner stream={elsewhere.get(s.id)!} />
					</span>
				) : (
					<span class={`state ${s.state}`} title={stateInWords(s)}>
						{stateInWords(s)}
					</span>
				),
		},
		{
			key: 'began',
			title: 'Began',
			sort: 'began',
			width: '128px',
			right: true,
			from: 1000,
			cell: (s) => when(nanoseconds(s.timestamp) / 1e6),
		},
		{
			key: 'ran',
			title: 'Recorded for',
			sort: 'ran',
			width: '104px',
			right: true,
			from: 1340,
			cell: (s) => duration(nanoseconds(s.runtime)),
		},
		{
			key: 'heap',
			title: 'Heap',
			sort: 'heap',
			width: '86px',
			right: true,
			hint: 'in use now, or at the end',
			cell: (s) => (s.state === 'live' ? <LiveHeap stream={s} /> : size(s.final_allocated)),
		},
		{
			key: 'peak',
			title: 'Peak',
			width: '86px',
			right: true,
			from: 1240,
			hint: 'most in use at any moment',
			cell: (s) => <Peak stream={s} />,
		},
		{
			key: 'blocks',
			title: 'Blocks',
			sort: 'blocks',
			width: '96px',
			right: true,
			from: 1440,
			hint: 'in use now, or at the end',
			cell: (s) => count(s.final_allocated_count),
		},
		{
			key: 'events',
			title: 'Events',
			sort: 'events',
			width: '80px',
			right: true,
			from: 760,
			cell: (s) => (s.events === undefined ? '' : shortCount(s.events)),
		},
		{
			key: 'rate',
			title: 'Events/s',
			sort: 'rate',
			width: '84px',
			right: true,
			from: 760,
			cell: (s) =>
				s.state === 'live' && s.events_per_second !== undefined
					? shortCount(s.events_per_second)
					: '',
		},
		{
			key: 'line',
			title: 'In use over time',
			width: '132px',
			from: 1100,
			cell: (s) => <Line stream={s} />,
		},
		{
			key: 'orders',
			title: 'Orders',
			silent: true,
			width: '96px',
			from: 700,
			class: 'bare',
			cell: (s) => s.state === 'live' && <Orders stream={s} address={address} small />,
		},
	];
}

export function FleetView(props: { address: Address }) {
	const { streams, connected, incomplete } = useFleet();
	const [picked, setPicked] = useState<string[]>([]);
	const [taken, setTaken] = useState(0); // snapshots, here
	const { params } = props.address;
	const q = params.get('q') ?? '';
	const chosen = params.get('sort') ?? '';
	const sort = KEYS[chosen] ? chosen : 'began';
	const order =
		params.get('order') === 'asc' || (params.get('order') !== 'dsc' && WORDS.includes(sort))
			? 'asc'
			: 'dsc';
	const found = (streams ?? []).filter((s) => matches(s, q));
	const rows = sorted(found, KEYS[sort]!, order);
	const pick = (id: string) =>
		setPicked((before) =>
			before.includes(id) ? before.filter((p) => p !== id) : [...before.slice(-1), id],
		);
	const live = (streams ?? []).filter((s) => s.state === 'live').length;

	const shared = useShared();
	const show = params.get('show') ?? 'recordings';
	const snapshots = show === 'snapshots';
	const recordings = show === 'recordings';
	const everywhere = show === 'everywhere';

	return (
		<main class="fleet">
			<div class="tools">
				<Segments
					label="What is listed"
					options={
						[
							['recordings', 'Recordings'],
							...(everywhere || shared.data?.length
								? ([['everywhere', 'All collectors']] as const)
								: []),
							['snapshots', 'Snapshots'],
							['differences', 'Differences'],
						] as const
					}
					chosen={
						snapshots || recordings || everywhere ? show : 'differences'
					}
					onChoose={(to) => go({ set: { show: to === 'recordings' ? undefined : to } })}
				/>
				{!snapshots && (
					<>
						<input
							type="search"
							placeholder="Program, host, tag:site=berlin"
							title={
								'Words, or NAME=PATTERN as for --select: ' +
								'board=gw-* version!=1.4 tag:site=berlin'
							}
							aria-label="Search the recordings"
							value={q}
							onInput={(e) => go({ set: { q: e.currentTarget.value } }, true)}
						/>
						<span class="dim">
							{streams && !everywhere
								? `${count(rows.length)} of ${count(streams.length)} ` +
									`recordings, ${count(live)} live`
								: ''}
						</span>
					</>
				)}
				<span class="grow" />
				{picked.length === 1 && <span class="dim">Pick a second one to compare them.</span>}
				{picked.length === 2 && (
					<a
						class="button"
						href={changed(props.address, {
							stream: picked[1]!.slice(0, 12),
							view: 'flame',
							fresh: true,
							set: { base: picked[0]!.slice(0, 12), value: 'peak' },
						})}
					>
						Compare the two
					</a>
				)}
				{streams && !connected && (
					<span class="lost">The connection to the collector is lost. Trying again…</span>
				)}
				<span class="row">
					<TakeSnapshot select={selector(q)} onTaken={() => setTaken((n) => n + 1)} />
					<Import />
				</span>
			</div>
			<Imports address={props.address} />
			{incomplete && (
				<div class="incomplete" role="note">
					{incomplete}
				</div>
			)}
			{!streams && !connected && <div class="wait" role="status" aria-label="Loading" />}
			{snapshots && <Snapshots address={props.address} version={taken} />}
			{everywhere && <Shared address={props.address} answer={shared} q={q} />}
			{!snapshots && !recordings && !everywhere && (
				<Differences address={props.address} select={selector(q)} />
			)}
			{recordings && streams?.length === 0 && (
				<Notice title="No recording yet.">
					Start <code>heapcast run --announce -- PROGRAM</code> on a board in this network
					while <code>heapcast gather</code> runs here, and it appears by itself. Or drop
					a file here: a recording, or a profile of heaptrack, pprof, jemalloc,
					gperftools, collapsed stacks.
				</Notice>
			)}
			{recordings && streams && streams.length > 0 && rows.length === 0 && (
				<Notice title={`Nothing matches “${q}”.`}>
					Search for a part of a program, host, pid or state.
				</Notice>
			)}
			{recordings && rows.length > 0 && (
				<Grid
					label="Recordings"
					class="recordings"
					columns={columnsOf(
						props.address,
						rows.some((s) => s.tags),
						picked,
						wentOn(shared.data),
						pick,
					)}
					total={rows.length}
					row={(at) => rows[at]}
					rowHeight={26}
					rowClass={(s) => s.state}
					sort={sort}
					order={order}
					onSort={(name, turned) =>
						go({ set: { sort: name, order: name === sort ? turned : undefined } })
					}
				/>
			)}
		</main>
	);
}
