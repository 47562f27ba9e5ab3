// Memory maps: what was mapped, by whom, how much of it was in memory.
import { useMemo } from 'preact/hooks';
import { filtersOf, go } from '../base/address';
import { about, useAnswer } from '../base/ask';
import { useCalmVersion } from '../base/calm';
import { baseName, count, duration, size } from '../base/format';
import { asMoment, useMoment, type Moment } from '../base/moment';
import { Plot, type Line } from '../base/plot';
import { Grid, type Column } from '../base/grid';
import { Answered, Notice } from '../base/ui';
import type { ViewProps } from '../frame/views';
import { nanoseconds, type Stream, type Time } from '../api/types';
import { sinceStart, type KernelFigures, type Mapping, type Maps } from '../api/memory';
import { MapDetail } from './detail';
import { nameOf, protectionOf, rangeOf, siteOf, sizeOr } from './text';
import './maps.css';

const MOST = 5000;
const READING = 50e6; // ns that a reading of all maps may take

/** Filters that /maps takes (docs/rest-api.md): it refuses others. */
const TAKEN = new RegExp(
	'^(from|to|alive_at|lifetime|thread|thread_name|module|backtraces|deallocation_backtraces|' +
		'(address|size|lifetime|backtrace_depth)_(min|max)|(negative_)?(function|source)_regex)$',
);

interface MapLine {
	map: Mapping;
	name: string;
	by: string;
	since: number;
	until: number;
	resident: number | undefined;
	gone: boolean;
}

function residentAt(map: Mapping, ns: number): number | undefined {
	let rss: number | undefined;
	for (const usage of map.usage_history ?? []) {
		if (nanoseconds(usage.timestamp_relative) > ns && rss !== undefined) break;
		rss = usage.rss ?? rss;
	}
	return rss;
}

/**
 * `first`: when maps were read first. What nobody was seen to map and was there then was there
 * before, for all that is known.
 */
function lineOf(map: Mapping, at: number, start: Time, first: number): MapLine {
	const since = nanoseconds(map.timestamp_relative);
	const until = map.deallocation ? sinceStart(map.deallocation.timestamp, start) : Infinity;
	const gone =
		until <= at || (since > at && (map.source !== undefined || since > first + READING));
	return {
		map,
		name: nameOf(map),
		by: map.source ? siteOf(map.source) : '',
		since,
		until,
		gone,
		resident: gone ? undefined : residentAt(map, at),
	};
}

const SORTS: Record<string, (l: MapLine) => number | string> = {
	address: (l) => l.map.address,
	size: (l) => l.map.size,
	resident: (l) => l.resident ?? -1,
	peak: (l) => l.map.peak_rss ?? -1,
	name: (l) => l.name,
	by: (l) => l.by,
	since: (l) => l.since,
	until: (l) => l.until,
};

function ResidentSet(props: { stream: Stream; version: number }) {
	const { data } = useAnswer<KernelFigures>(
		about(props.stream.id, 'timeline_maps'),
		props.version,
	);
	const start = nanoseconds(props.stream.timestamp);
	const xs = useMemo(() => (data?.xs ?? []).map((ms) => ms * 1e6 - start), [data, start]);
	const lines = useMemo<Line[]>(
		() => [
			{ name: 'resident', values: data?.rss ?? [], colour: 'b1', fill: 'b3' },
			{ name: 'of no file', values: data?.anonymous ?? [], colour: 'b4' },
		],
		[data],
	);
	if (!data) return null;
	if (xs.length < 2)
		return (
			<p class="dim note">
				How much of the process was resident is not known: it ended before the first
				look. <code>heapcast run --figures-interval 100ms</code> looks more often.
			</p>
		);
	return (
		<Plot
			title="The whole process"
			unit="bytes"
			xs={xs}
			lines={lines}
			height={110}
			onMoment={(ns) => go({ set: { at: asMoment(ns), value: 'in-use' } })}
		/>
	);
}

function Table(props: ViewProps & { answer: Maps; moment: Moment }) {
	const { answer, address, stream, moment } = props;
	const { params } = address;
	const at = moment.ns;
	const text = (params.get('q') ?? '').toLowerCase();
	const sort = params.get('sort') ?? '';
	const by = SORTS[sort] ? sort : 'address';
	const down = params.get('order') === 'dsc';
	const picked = params.get('map');

	const all = useMemo(() => {
		const first = answer.maps.reduce(
			(min, m) => (m.source ? min : Math.min(min, nanoseconds(m.timestamp_relative))),
			Infinity,
		);
		return answer.maps.map((m) => lineOf(m, at, stream.timestamp, first));
	}, [answer, at]);
	const lines = useMemo(() => {
		const value = SORTS[by]!;
		const found = text
			? all.filter((l) =>
					`${l.name} ${l.by} ${protectionOf(l.map)} ${rangeOf(l.map)}`
						.toLowerCase()
						.includes(text),
				)
			: [...all];
		return found.sort((a, b) => {
			const [x, y] = [value(a), value(b)];
			return (x < y ? -1 : x > y ? 1 : a.map.id - b.map.id) * (down ? -1 : 1);
		});
	}, [all, text, by, down]);
	const sum = (get: (l: MapLine) => number) =>
		lines.reduce((s, l) => s + (l.gone ? 0 : get(l)), 0);
	const mapped = lines.filter((l) => !l.gone).length;
	const columns: Column<MapLine>[] = [
		{
			key: 'address',
			title: 'Address',
			sort: 'address',
			width: '210px',
			cell: (l) => <code title={rangeOf(l.map)}>{rangeOf(l.map)}</code>,
		},
		{
			key: 'size',
			title: 'Size',
			sort: 'size',
			width: '78px',
			right: true,
			cell: (l) => <span title={`${count(l.map.size)} B`}>{size(l.map.size)}</span>,
		},
		{
			key: 'resident',
			title: 'Resident',
			sort: 'resident',
			width: '86px',
			right: true,
			hint: `In memory ${moment.text}, as the last reading before had it`,
			cell: (l) => sizeOr(l.resident),
		},
		{
			key: 'peak',
			title: 'Most',
			sort: 'peak',
			width: '90px',
			right: true,
			hint: 'Most that was resident at any reading',
			cell: (l) => `${l.map.peak_rss_estimated ? '≈ ' : ''}${sizeOr(l.map.peak_rss)}`,
		},
		{
			key: 'protection',
			title: 'Protection',
			silent: true,
			width: '54px',
			hint: 'Protection: read, write, execute; private or shared',
			cell: (l) => <code>{protectionOf(l.map)}</code>,
		},
		{
			key: 'name',
			title: 'Name',
			sort: 'name',
			width: 'minmax(160px, 1fr)',
			cell: ({ map, name }) => (
				<span title={name}>
					{map.name ? baseName(map.name) : name}{' '}
					{map.name && map.name.includes('/') && (
						<span class="dim">{map.name.slice(0, -baseName(map.name).length)}</span>
					)}
				</span>
			),
		},
		{
			key: 'by',
			title: 'Mapped by',
			sort: 'by',
			width: '160px',
			cell: (l) => <span title={l.by}>{l.by}</span>,
		},
		{
			key: 'since',
			title: 'Since',
			sort: 'since',
			width: '84px',
			right: true,
			cell: (l) => duration(l.since),
		},
		{
			key: 'until',
			title: 'Until',
			sort: 'until',
			width: '84px',
			right: true,
			cell: (l) => (l.until === Infinity ? '' : duration(l.until)),
		},
	];
	const selected = picked === null ? -1 : lines.findIndex((l) => String(l.map.id) === picked);
	const select = (line: MapLine) =>
		go(
			{
				set: {
					map: String(line.map.id),
					picked: line.map.source ? String(line.map.source.backtrace_id) : undefined,
					site: undefined,
				},
			},
			true,
		);

	return (
		<>
			<div class="tools">
				<input
					type="search"
					placeholder="Name, caller or protection"
					aria-label="Search the maps"
					value={params.get('q') ?? ''}
					onInput={(event) => go({ set: { q: event.currentTarget.value } }, true)}
				/>
				<span class="dim" role="status">
					{count(mapped)} {mapped === 1 ? 'map' : 'maps'} {moment.text}:{' '}
					{size(sum((l) => l.map.size))}
					{answer.gathered ? `, ${size(sum((l) => l.resident ?? 0))} of it resident` : ''}
					{lines.length > mapped
						? `; ${count(lines.length - mapped)} at other times`
						: ''}
					{answer.total_count > answer.maps.length
						? `; the first ${count(answer.maps.length)} of ` +
							`${count(answer.total_count)}: filters find others`
						: ''}
				</span>
			</div>
			{!answer.gathered && (
				<p class="dim note">
					Only what the program itself mapped is known, and not how much of it was
					resident. <code>heapcast run --gather-maps -- PROGRAM</code> records both.
				</p>
			)}
			<Grid
				label="Memory maps"
				columns={columns}
				total={lines.length}
				row={(i) => lines[i]}
				keyOf={(l) => String(l.map.id)}
				picked={picked ?? ''}
				show={selected < 0 ? undefined : selected}
				onPick={select}
				rowClass={(l) => (l.gone ? 'gone' : '')}
				sort={by}
				order={down ? 'dsc' : 'asc'}
				onSort={(name, order) =>
					go(
						{
							set: {
								sort: name,
								order:
									(by === name
										? order
										: ['address', 'name', 'by', 'since'].includes(name)
											? 'asc'
											: 'dsc') === 'dsc'
										? 'dsc'
										: undefined,
							},
						},
						true,
					)
				}
			/>
		</>
	);
}

export function MapsView(props: ViewProps) {
	const { address, stream } = props;
	const version = useCalmVersion(stream);
	const filters = filtersOf(address);
	const taken = filters.filter(([name]) => TAKEN.test(name));
	const answer = useAnswer<Maps>(
		about(stream.id, 'maps', [['with_usage_history', 'true'], ['count', MOST], ...taken]),
		version,
	);
	const picked = address.params.get('map');
	const moment = useMoment(stream, address, version);

	return (
		<div class="maps">
			<ResidentSet stream={stream} version={version} />
			{taken.length < filters.length && (
				<p class="dim note">
					Maps have no{' '}
					{filters
						.filter(([name]) => !TAKEN.test(name))
						.map(([name]) => name.replaceAll('_', ' '))
						.join(', ')}
					: these filters do not count here.
				</p>
			)}
			<Answered answer={answer}>
				{(maps) =>
					maps.maps.length ? (
						moment && <Table {...props} answer={maps} moment={moment} />
					) : taken.length ? (
						<Notice title="No map matches.">
							The filters above leave nothing: remove one.
						</Notice>
					) : (
						<Notice title="No map was recorded.">
							The program mapped nothing itself while it was watched. What the loader
							and the kernel mapped, and how much is resident, is recorded with{' '}
							<code>heapcast run --gather-maps -- PROGRAM</code>.
						</Notice>
					)
				}
			</Answered>
			{picked !== null && (
				<MapDetail address={address} stream={stream} id={picked} version={version} />
			)}
		</div>
	);
}
