// The recordings of all collectors that share a data base, and where each of them is.
import { useState } from 'preact/hooks';
import type { SharedStream } from '../api/answers';
import { changed, type Address } from '../base/address';
import { useAnswer } from '../base/ask';
import { baseName, count, duration, shortCount, size, when } from '../base/format';
import { Answered, Notice } from '../base/ui';
import { useFleet } from '../frame/fleet_state';
import { nanoseconds } from '../api/types';
import { matches } from './select';

const SHOWN = 500;

/** Whether this server knows of other collectors; undefined: not yet. */
export function useShared() {
	const { streams } = useFleet();
	return useAnswer<SharedStream[]>('shared', 1 + (streams?.length ?? 0));
}

/** Recordings here that went on at another collector, by their ids. */
export function wentOn(shared: SharedStream[] | undefined): Map<string, SharedStream> {
	return new Map((shared ?? []).filter((s) => !s.is_here).map((s) => [s.id, s]));
}

/** The collector that has the recording, and all about it. */
export function Owner(props: { stream: SharedStream }) {
	const s = props.stream;
	if (s.collector_away_since_ns)
		return (
			<span class="warning">
				on {s.collector}, away since {when(s.collector_away_since_ns / 1e6)}
			</span>
		);
	return s.collector_address ? (
		<a href={`${s.collector_address}/#/${s.id.slice(0, 12)}/overview`}>{s.collector}</a>
	) : (
		<>{s.collector}</>
	);
}

function Program(props: { stream: SharedStream; here: boolean; address: Address }) {
	const s = props.stream;
	const name = s.name || baseName(s.executable);
	return (
		<span class="program" title={s.cmdline}>
			{props.here ? (
				<a
					href={changed(props.address, {
						stream: s.id.slice(0, 12),
						view: 'overview',
						fresh: true,
					})}
				>
					{name}
				</a>
			) : (
				name
			)}
		</span>
	);
}

function Rows(props: { streams: SharedStream[]; address: Address }) {
	const own = new Set((useFleet().streams ?? []).map((s) => s.id));
	return (
		<>
			{props.streams.map((s) => (
				<tr key={s.id}>
					<td>
						<Program stream={s} here={own.has(s.id)} address={props.address} />
					</td>
					<td>{s.host}</td>
					<td class="n minor">{s.pid || ''}</td>
					<td>{s.state}</td>
					<td class="n minor">{when(nanoseconds(s.timestamp) / 1e6)}</td>
					<td class="n minor">{duration(nanoseconds(s.runtime))}</td>
					<td class="n">{size(s.final_allocated)}</td>
					<td class="n minor">{s.events === undefined ? '' : shortCount(s.events)}</td>
					<td>{s.is_here ? 'here' : <Owner stream={s} />}</td>
				</tr>
			))}
		</>
	);
}

export function Shared(props: {
	address: Address;
	answer: ReturnType<typeof useShared>;
	q: string;
}) {
	const [all, setAll] = useState(false);
	return (
		<Answered answer={props.answer}>
			{(list) => {
				const found = list
					.filter((s) => matches(s, props.q))
					.sort((a, b) => nanoseconds(b.timestamp) - nanoseconds(a.timestamp));
				return found.length === 0 ? (
					<Notice title={`Nothing matches “${props.q}”.`}>
						Search for a part of a program, host, pid or state.
					</Notice>
				) : (
					<div class="tablebox" tabIndex={0}>
						<table>
							<thead>
								<tr>
									<th>Program</th>
									<th>Host</th>
									<th class="n minor">PID</th>
									<th>State</th>
									<th class="n minor">Began</th>
									<th class="n minor">Recorded for</th>
									<th class="n">Heap</th>
									<th class="n minor">Events</th>
									<th>Collector</th>
								</tr>
							</thead>
							<tbody>
								<Rows
									streams={all ? found : found.slice(0, SHOWN)}
									address={props.address}
								/>
							</tbody>
						</table>
						{!all && found.length > SHOWN && (
							<button type="button" onClick={() => setAll(true)}>
								Show all {count(found.length)}
							</button>
						)}
					</div>
				);
			}}
		</Answered>
	);
}
