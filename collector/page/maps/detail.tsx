// A selected map: who made it, how much of it was in memory, the regions that it consisted of.
import { useMemo } from 'preact/hooks';
import { changed, go, type Address } from '../base/address';
import { about, useAnswer } from '../base/ask';
import { baseName, count, duration, size } from '../base/format';
import { Plot, type Line } from '../base/plot';
import { Answered } from '../base/ui';
import { nanoseconds, type Stream, type Time } from '../api/types';
import { sinceStart, type Call, type Mapping, type Maps } from '../api/memory';
import { nameOf, protectionOf, rangeOf, siteOf } from './text';

const SHOWN = 100;

function CallLink(props: { call: Call; what: string; start: Time }) {
	const { call } = props;
	return (
		<>
			{props.what}{' '}
			<button
				type="button"
				class="button"
				title="Show the stack of this call at the right"
				onClick={() =>
					go({ set: { picked: String(call.backtrace_id), site: undefined } }, true)
				}
			>
				{siteOf(call)}
			</button>{' '}
			at {duration(sinceStart(call.timestamp, props.start))}
		</>
	);
}

function Regions(props: { map: Mapping; start: Time }) {
	const regions = props.map.regions ?? [];
	return (
		<>
			<h3>{regions.length === 1 ? 'One region' : `${count(regions.length)} regions`}</h3>
			<table class="wide">
				<thead>
					<tr>
						<th>Address</th>
						<th class="n">Size</th>
						<th>Protection</th>
						<th class="n">Since</th>
						<th class="n">Until</th>
						<th>Name</th>
					</tr>
				</thead>
				<tbody>
					{regions.slice(0, SHOWN).map((r) => (
						<tr>
							<td>
								<code>{rangeOf(r)}</code>
							</td>
							<td class="n">{size(r.size)}</td>
							<td>
								<code>{protectionOf(r)}</code>
							</td>
							<td class="n">{duration(nanoseconds(r.timestamp_relative))}</td>
							<td class="n">
								{r.deallocation
									? duration(sinceStart(r.deallocation.timestamp, props.start))
									: ''}
							</td>
							<td class="dim">
								{r.name ?? ''}
								{r.file_offset ? `, from ${size(r.file_offset)} of it` : ''}
							</td>
						</tr>
					))}
				</tbody>
			</table>
			{regions.length > SHOWN && <p class="dim note">The first {SHOWN} are shown.</p>}
		</>
	);
}

function Detail(props: { map: Mapping; address: Address; stream: Stream }) {
	const { map, address, stream } = props;
	const start = stream.timestamp;
	const history = map.usage_history ?? [];
	// A reading holds until the next, the last one until the map goes.
	const until = map.deallocation
		? sinceStart(map.deallocation.timestamp, start)
		: nanoseconds(stream.runtime);
	const xs = useMemo(() => {
		const all = history.map((u) => nanoseconds(u.timestamp_relative));
		return all.length && until > all.at(-1)! ? [...all, until] : all;
	}, [map, until]);
	const lines = useMemo<Line[]>(() => {
		const of = (get: (u: (typeof history)[0]) => number | undefined) => {
			const values = history.map((u) => get(u) ?? null);
			return values.length && xs.length > values.length
				? [...values, values.at(-1)!]
				: values;
		};
		return [
			{ name: 'size', values: of((u) => u.address_space), colour: 'dim', stepped: true },
			{ name: 'resident', values: of((u) => u.rss), colour: 'b1', fill: 'b3', stepped: true },
			{
				name: 'written, of this process alone',
				values: of((u) => u.private_dirty),
				colour: 'b4',
				stepped: true,
			},
		].filter((line) => line.values.some((v) => v !== null));
	}, [map, xs]);

	return (
		<>
			<div class="tools">
				<strong title={nameOf(map)}>{baseName(nameOf(map))}</strong>
				<code>{rangeOf(map)}</code>
				<span class="dim">{size(map.size)}</span>
				<span class="dim">{protectionOf(map)}</span>
				<span class="grow" />
				{map.is_writable !== false && (
					<a
						class="button"
						href={changed(address, {
							view: 'flame',
							set: { from_map: String(map.id), map: undefined },
						})}
					>
						Blocks of the heap in it
					</a>
				)}
				<button
					type="button"
					class="button"
					onClick={() => go({ set: { map: undefined } }, true)}
				>
					Close
				</button>
			</div>
			<div class="tools">
				{map.source ? (
					<span>
						<CallLink call={map.source} what="Mapped by" start={start} />
					</span>
				) : (
					<span class="dim">
						No call that mapped it was seen: it is the loader’s, the kernel’s, or an
						allocator’s. First seen at {duration(nanoseconds(map.timestamp_relative))}.
					</span>
				)}
				{map.deallocation && (
					<span>
						{map.deallocation.source ? (
							<CallLink
								call={map.deallocation.source}
								what="Unmapped by"
								start={start}
							/>
						) : (
							`Gone at ${duration(sinceStart(map.deallocation.timestamp, start))}`
						)}
					</span>
				)}
			</div>
			{xs.length > 1 && lines.length > 0 && (
				<Plot
					title={history.some((u) => u.estimated) ? 'Usage, partly estimated' : 'Usage'}
					unit="bytes"
					xs={xs}
					lines={lines}
					height={110}
				/>
			)}
			<Regions map={map} start={start} />
		</>
	);
}

export function MapDetail(props: {
	address: Address;
	stream: Stream;
	id: string;
	version: number;
}) {
	const answer = useAnswer<Maps>(
		about(props.stream.id, 'maps', [
			['id', props.id],
			['with_regions', 'true'],
			['with_usage_history', 'true'],
		]),
		props.version,
	);
	return (
		<section class="map-detail" aria-label="The selected map" tabIndex={0}>
			<Answered answer={answer}>
				{({ maps }) =>
					maps[0] ? (
						<Detail map={maps[0]} address={props.address} stream={props.stream} />
					) : (
						<p class="dim note">There is no map {props.id} in this recording.</p>
					)
				}
			</Answered>
		</section>
	);
}
