// All recordings that this collector has, live ones moving. Two that are picked are compared.
import { useState } from 'preact/hooks';
import { changed, go, type Address } from '../base/address';
import { useAnswer, about } from '../base/ask';
import { baseName, count, duration, shortCount, size, stateInWords, when } from '../base/format';
import { Notice, Segments } from '../base/ui';
import { useFleet } from '../frame/fleet_state';
import { Import, Imports } from '../imports/drop';
import { Orders } from '../orders/orders';
import { Snapshots } from '../orders/snapshots';
import { TakeSnapshot } from '../orders/take';
import { nanoseconds, type Stream, type Timeline } from '../api/types';

interface Column {
	name: string;
	title: string;
	/** What the column is sorted by. */
	key: (s: Stream) => number | string;
	number?: boolean;
	/** Left out in a narrow window. */
	minor?: boolean;
}

const COLUMNS: Column[] = [
	{ name: 'program', title: 'Program', key: (s) => s.name },
	{ name: 'host', title: 'Host', key: (s) => s.host ?? '', minor: true },
	{ name: 'pid', title: 'PID', key: (s) => s.pid ?? 0, number: true, minor: true },
	{ name: 'state', title: 'State', key: (s) => s.state },
	{ name: 'began', title: 'Began', key: (s) => nanoseconds(s.timestamp), number: true, minor: true },
	{ name: 'ran', title: 'Recorded for', key: (s) => nanoseconds(s.runtime), number: true, minor: true },
	{ name: 'heap', title: 'Heap', key: (s) => s.final_allocated, number: true },
	{ name: 'blocks', title: 'Blocks', key: (s) => s.final_allocated_count, number: true, minor: true },
	{ name: 'events', title: 'Events', key: (s) => s.events ?? 0, number: true, minor: true },
	{ name: 'rate', title: 'Events/s', key: (s) => s.events_per_second ?? 0, number: true, minor: true },
];

function matches(stream: Stream, words: string[]): boolean {
	const text = `${stream.name} ${stream.cmdline} ${stream.host ?? ''} ${stream.pid ?? ''} ${stateInWords(stream)} ${stream.id}`.toLowerCase();
	return words.every((word) => text.includes(word));
}

/** What was in use over all of its time, small. */
function Line(props: { stream: Stream }) {
	const { data } = useAnswer<Timeline>(about(props.stream.id, 'timeline', [['points', 60]]), props.stream.state === 'live' ? (props.stream.events ?? 0) : 0);
	if (!data || data.allocated_size.length < 2) return <svg class="line" aria-hidden="true" />;
	const most = Math.max(1, ...data.allocated_size);
	const path = data.allocated_size.map((bytes, i) => `${i ? 'L' : 'M'}${((i * 90) / (data.allocated_size.length - 1)).toFixed(1)} ${(17 - (16 * bytes) / most).toFixed(1)}`).join('');
	return (
		<svg class="line" viewBox="0 0 90 18" aria-label={`at most ${size(most)}`} role="img">
			<path d={`${path}L90 18L0 18z`} />
		</svg>
	);
}

function Row(props: { stream: Stream; address: Address; picked: boolean; onPick: () => void }) {
	const { stream: s } = props;
	const href = changed(props.address, { stream: s.id.slice(0, 12), view: 'overview', fresh: true });
	return (
		<tr class={s.state}>
			<td class="pick">
				<input type="checkbox" checked={props.picked} onChange={props.onPick} aria-label={`Pick ${s.name} ${s.pid ?? ''} to compare it`} />
			</td>
			<td class="program">
				<a href={href} title={s.cmdline}>
					{s.name || baseName(s.executable)}
				</a>{' '}
				<span class="dim">{s.cmdline.replace(/^\S+\s*/, '')}</span>
				{s.incomplete && (
					<a class="warning" href={changed(props.address, { stream: s.id.slice(0, 12), view: 'account', fresh: true })} title={s.incomplete}>
						⚠ incomplete
					</a>
				)}
			</td>
			<td class="minor">{s.host}</td>
			<td class="n minor">{s.pid || ''}</td>
			<td>
				<span class={`state ${s.state}`}>{stateInWords(s)}</span>
			</td>
			<td class="n minor">{when(nanoseconds(s.timestamp) / 1e6)}</td>
			<td class="n minor">{duration(nanoseconds(s.runtime))}</td>
			<td class="n">{size(s.final_allocated)}</td>
			<td class="n minor">{count(s.final_allocated_count)}</td>
			<td class="n minor">{s.events === undefined ? '' : shortCount(s.events)}</td>
			<td class="n minor">{s.state === 'live' && s.events_per_second !== undefined ? shortCount(s.events_per_second) : ''}</td>
			<td class="minor">
				<Line stream={s} />
			</td>
			<td class="minor">{s.state === 'live' && <Orders stream={s} address={props.address} small />}</td>
		</tr>
	);
}

const ROWS_MAX = 200;

export function FleetView(props: { address: Address }) {
	const { streams, connected, incomplete } = useFleet();
	const [picked, setPicked] = useState<string[]>([]);
	const [taken, setTaken] = useState(0); // snapshots, here
	const { params } = props.address;
	const q = params.get('q') ?? '';
	const sort = COLUMNS.find((c) => c.name === params.get('sort')) ?? COLUMNS[4]!;
	const order = params.get('order') ?? (sort.number ? 'dsc' : 'asc');
	const found = (streams ?? []).filter((s) => matches(s, q.toLowerCase().split(/\s+/).filter(Boolean)));
	const sign = order === 'asc' ? 1 : -1;
	const rows = found.sort((a, b) => {
		const [x, y] = [sort.key(a), sort.key(b)];
		return sign * (typeof x === 'number' ? x - (y as number) : x.localeCompare(y as string));
	});
	const pick = (id: string) => setPicked((before) => (before.includes(id) ? before.filter((p) => p !== id) : [...before.slice(-1), id]));
	const live = (streams ?? []).filter((s) => s.state === 'live').length;

	const snapshots = params.get('show') === 'snapshots';

	return (
		<main class="fleet">
			<div class="tools">
				<Segments
					label="What is listed"
					options={[['recordings', 'Recordings'], ['snapshots', 'Snapshots']] as const}
					chosen={snapshots ? 'snapshots' : 'recordings'}
					onChoose={(show) => go({ set: { show: show === 'snapshots' ? show : undefined } })}
				/>
				{!snapshots && (
					<>
						<input
							type="search"
							placeholder="Program, host, pid, state"
							aria-label="Search the recordings"
							value={q}
							onInput={(e) => go({ set: { q: e.currentTarget.value } }, true)}
						/>
						<span class="dim">{streams ? `${count(rows.length)} of ${count(streams.length)} recordings, ${count(live)} live` : ''}</span>
					</>
				)}
				<span class="grow" />
				{picked.length === 1 && <span class="dim">Pick a second one to compare them.</span>}
				{picked.length === 2 && (
					<a
						class="button"
						href={changed(props.address, { stream: picked[1]!.slice(0, 12), view: 'flame', fresh: true, set: { base: picked[0]!.slice(0, 12), value: 'peak' } })}
					>
						Compare the two
					</a>
				)}
				{streams && !connected && <span class="lost">The connection to the collector is lost. Trying again…</span>}
				<span class="row">
					<TakeSnapshot onTaken={() => setTaken((n) => n + 1)} />
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
			{!snapshots && streams?.length === 0 && (
				<Notice title="No recording yet.">
					Start <code>agent run --announce -- PROGRAM</code> on a board in this network while <code>collector gather</code> runs here, and it appears by itself. Or drop a file here: a recording, or a profile of heaptrack, pprof, jemalloc, gperftools, collapsed stacks.
				</Notice>
			)}
			{!snapshots && streams && streams.length > 0 && rows.length === 0 && <Notice title={`Nothing matches “${q}”.`}>Search for a part of a program, host, pid or state.</Notice>}
			{!snapshots && rows.length > 0 && (
				<div class="tablebox" tabIndex={0}>
					<table>
						<thead>
							<tr>
								<th class="pick">
									<span class="hidden">Compare</span>
								</th>
								{COLUMNS.map((c) => (
									<th class={`${c.number ? 'n' : ''} ${c.minor ? 'minor' : ''}`} aria-sort={c === sort ? (order === 'asc' ? 'ascending' : 'descending') : 'none'}>
										<button
											type="button"
											onClick={() => go({ set: { sort: c.name, order: c === sort ? (order === 'asc' ? 'dsc' : 'asc') : undefined } })}
										>
											{c.title}
											{c === sort ? (order === 'asc' ? ' ▴' : ' ▾') : ''}
										</button>
									</th>
								))}
								<th class="minor">In use over time</th>
								<th class="minor">
									<span class="hidden">Orders</span>
								</th>
							</tr>
						</thead>
						<tbody>
							{rows.slice(0, ROWS_MAX).map((s) => (
								<Row key={s.id} stream={s} address={props.address} picked={picked.includes(s.id)} onPick={() => pick(s.id)} />
							))}
						</tbody>
					</table>
					{rows.length > ROWS_MAX && <p class="dim more">The first {ROWS_MAX} are shown: search to see others.</p>}
				</div>
			)}
		</main>
	);
}
