// The address space as a picture: how the blocks that are in use lie on pages. The kernel takes
// memory back by whole pages, so that a page with one small block on it is kept as a whole.
import type { ComponentChildren } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import { filtersOf, go } from '../base/address';
import { about, useAnswer } from '../base/ask';
import { useCalmVersion } from '../base/calm';
import { styleValue, useDark } from '../base/colours';
import { count, duration, percent, size } from '../base/format';
import { asMoment, useMoment, type Moment } from '../base/moment';
import { usePicture } from '../base/picture';
import { Plot, type Line } from '../base/plot';
import { Answered, Notice, useSize } from '../base/ui';
import type { ViewProps } from '../frame/views';
import { nanoseconds, type Stream } from '../api/types';
import type { Fragmentation, FragmentationTimeline, Regions } from '../api/memory';
import { hex } from '../maps/text';
import { AreaPicture } from './area';
import { Blocks, spotOf, spotText } from './blocks';
import { stepColour } from './colours';
import { cellCount, pagesPerCellFor, spaceOf } from './layout';
import './space.css';

const SQUARES = 12000; // at first
const SQUARES_MOST = 50000;

function Figure(props: {
	title: string;
	value: string;
	about: string;
	children: ComponentChildren;
}) {
	return (
		<tr title={props.about}>
			<th scope="row">{props.title}</th>
			<td class="n">{props.value}</td>
			<td class="dim">{props.children}</td>
		</tr>
	);
}

/** In the letters of docs/rest-api.md: B in use, P on pages with a block, R resident. */
function Figures(props: { data: Fragmentation; moment: Moment }) {
	const { data } = props;
	const [B, P, R] = [data.in_use_bytes, data.page_bytes, data.resident_bytes];
	return (
		<table class="sums">
			<tbody>
				<Figure title="In use" value={size(B)} about="Bytes that the program asked for">
					{count(data.in_use_blocks)} blocks {props.moment.text}
				</Figure>
				<Figure
					title="On pages of"
					value={size(P)}
					about="Pages with at least one block in use: the kernel can’t have them back"
				>
					{count(data.pages)} pages, {percent(B, P)} % full
				</Figure>
				<Figure
					title="Between blocks"
					value={size(P - B)}
					about="Of these pages what no block has: what fragmentation costs"
				>
					{percent(P - B, P)} % of them: fragmentation
				</Figure>
				{R !== undefined && R > 0 && (
					<>
						<Figure
							title="Resident"
							value={size(R)}
							about="Of the heap’s regions, at the last reading of maps before"
						>
							of the heap’s regions, at {duration(data.maps_ns ?? 0)}
						</Figure>
						<Figure
							title="In free pages"
							value={R >= P ? size(R - P) : '–'}
							about={
								'Resident, without a block in use: the allocator keeps these ' +
								'pages, or has not given them back yet'
							}
						>
							{R >= P ? 'kept by the allocator' : 'more was used since then'}
						</Figure>
					</>
				)}
			</tbody>
		</table>
	);
}

function OverTime(props: { stream: Stream; version: number }) {
	const { data } = useAnswer<FragmentationTimeline>(
		about(props.stream.id, 'fragmentation_timeline'),
		props.version,
	);
	const start = nanoseconds(props.stream.timestamp);
	const xs = useMemo(() => (data?.xs ?? []).map((ms) => ms * 1e6 - start), [data, start]);
	const lines = useMemo<Line[]>(
		() => [
			{ name: 'resident, of no file', values: data?.anonymous ?? [], colour: 'b4' },
			{ name: 'in use', values: data?.in_use ?? [], colour: 'b1', fill: 'b3', stepped: true },
		],
		[data],
	);
	if (!data) return <div />;
	if (xs.length < 2)
		return (
			<p class="dim">
				How it went over time is not known: the program ended before the first look.{' '}
				<code>heapcast run --figures-interval 100ms</code> looks more often.
			</p>
		);
	return (
		<Plot
			title="Over time"
			unit="bytes"
			xs={xs}
			lines={lines}
			height={116}
			onMoment={(ns) => go({ set: { at: asMoment(ns), value: 'in-use' } })}
		/>
	);
}

function Legend(props: { data: Fragmentation }) {
	const dark = useDark();
	const box = useRef<HTMLDivElement>(null);
	const steps = props.data.pages_by_fill;
	usePicture(box, () => ({
		title: 'Pages by how full they are',
		width: steps.length * 72,
		height: 20,
		draw: (pen) => {
			pen.textBaseline = 'middle';
			steps.forEach(({ fill_min }, i) => {
				pen.fillStyle = stepColour(i, dark);
				pen.fillRect(i * 72, 4, 10, 10);
				pen.fillStyle = styleValue('text');
				pen.font = '11px system-ui, sans-serif';
				pen.fillText(
					`${Math.round(fill_min * 100)}–${Math.round(fill_min * 100) + 10} %`,
					i * 72 + 14,
					9,
				);
			});
		},
	}));
	return (
		<div
			class="fills"
			ref={box}
			role="group"
			aria-label="Pages by how full they are"
			title="Pages by how full they are. The picture counts the allocator’s headers, too"
		>
			{steps.map(({ fill_min, pages }, i) => (
				<span>
					<svg viewBox="0 0 10 10" class="swatch" aria-hidden="true">
						<rect width="10" height="10" fill={stepColour(i, dark)} />
					</svg>{' '}
					{Math.round(fill_min * 100)}–{Math.round(fill_min * 100) + 10} %{' '}
					<b>{count(pages)}</b>
				</span>
			))}
		</div>
	);
}

function Areas(
	props: ViewProps & { data: Fragmentation; regions: Regions; moment: Moment; version: number },
) {
	const { data, regions, address } = props;
	const [box, { width }] = useSize<HTMLDivElement>();
	const space = useMemo(() => spaceOf(data, regions), [data, regions]);
	const least = useMemo(() => pagesPerCellFor(space, SQUARES_MOST), [space]);
	const [chosen, setChosen] = useState<number>();
	const pagesPerCell = Math.max(least, chosen ?? pagesPerCellFor(space, SQUARES));
	const most = useMemo(() => Math.max(1, ...space.areas.map((a) => a.used.length)), [space]);
	const spot = spotOf(address.params.get('spot'));
	const inner = width - 28; // padding of .areas

	return (
		<>
			<div class="tools">
				<span class="dim">A square is</span>
				<button
					type="button"
					class="button"
					aria-label="Fewer pages a square"
					disabled={pagesPerCell <= least}
					onClick={() => setChosen(pagesPerCell / 2)}
				>
					−
				</button>
				<span role="status">
					{pagesPerCell === 1
						? `one page, ${size(space.pageSize)}`
						: `${count(pagesPerCell)} pages, ${size(pagesPerCell * space.pageSize)}`}
				</span>
				<button
					type="button"
					class="button"
					aria-label="More pages a square"
					disabled={pagesPerCell >= most}
					onClick={() => setChosen(pagesPerCell * 2)}
				>
					+
				</button>
				<span class="dim">
					{data.gathered
						? 'Grey pages have no block in use.'
						: 'Grey pages have no block in use, and may not exist: '}
					{!data.gathered && (
						<>
							regions are known with <code>heapcast run --gather-maps</code>.
						</>
					)}
					{data.sampled
						? ' Some blocks were not recorded: pages seem emptier than they are.'
						: ''}
				</span>
			</div>
			<Legend data={data} />
			<div class="areas" ref={box}>
				{width > 0 &&
					space.areas.map((area) => (
						<section aria-label={`Area from ${hex(area.from)}`}>
							<h3>
								<code>{hex(area.from)}</code>{' '}
								{area.name ||
									(area.region
										? 'of no file'
										: data.gathered
											? 'mapped since that reading'
											: 'blocks near each other')}{' '}
								· {size(area.to - area.from)}
								{area.region
									? `, ${size(area.region.resident_bytes)} resident, ` +
										`${size(area.region.in_use_bytes)} in use`
									: `, ${size(area.bytes)} in use`}
							</h3>
							{cellCount(area, pagesPerCell) > 0 && (
								<AreaPicture
									area={area}
									pageSize={space.pageSize}
									pagesPerCell={pagesPerCell}
									width={inner}
									picked={spot?.from}
									onPick={(cell) => go({ set: { spot: spotText(cell) } }, true)}
								/>
							)}
						</section>
					))}
				{space.left > 0 && (
					<p class="dim">
						{count(space.left)} more areas are not drawn: a filter of addresses shows
						them.
					</p>
				)}
			</div>
			{spot && (
				<Blocks
					address={address}
					stream={props.stream}
					spot={spot}
					moment={props.moment}
					version={props.version}
				/>
			)}
		</>
	);
}

/**
 * What was imported from another tool's file, or merged of many programs, is of no process: its
 * addresses tell nothing.
 */
export function SpaceView(props: ViewProps) {
	if (!props.stream.pid)
		return (
			<Notice title="No addresses were recorded.">
				Files of other tools do not have them, and a snapshot is of many programs.{' '}
				<code>heapcast run -- PROGRAM</code> records them.
			</Notice>
		);
	return <Space {...props} />;
}

function Space(props: ViewProps) {
	const { address, stream } = props;
	const version = useCalmVersion(stream);
	const moment = useMoment(stream, address, version);
	const params: [string, string | undefined][] = [['at', moment?.at], ...filtersOf(address)];
	const fragmentation = useAnswer<Fragmentation>(
		moment ? about(stream.id, 'fragmentation', params) : null,
		version,
	);
	const regions = useAnswer<Regions>(
		moment ? about(stream.id, 'regions', params) : null,
		version,
	);

	return (
		<div class="space">
			<div class="space-top">
				<div>
					{fragmentation.data && moment && (
						<Figures data={fragmentation.data} moment={moment} />
					)}
				</div>
				<OverTime stream={stream} version={version} />
			</div>
			<Answered answer={fragmentation}>
				{(data) =>
					data.in_use_blocks === 0 ? (
						<Notice title={`Nothing was in use ${moment?.text ?? ''}.`}>
							{filtersOf(address).length
								? 'The filters above leave nothing: remove one.'
								: 'Click in the time strip above to choose another moment.'}
						</Notice>
					) : (
						<Answered answer={regions}>
							{(all) =>
								moment ? (
									<Areas
										{...props}
										data={data}
										regions={all}
										moment={moment}
										version={version}
									/>
								) : null
							}
						</Answered>
					)
				}
			</Answered>
		</div>
	);
}
