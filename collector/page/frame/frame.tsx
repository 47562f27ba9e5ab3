// The one frame of all views: a bar above, the time strip, views at the left, the view, what is
// selected at the right.
import { useEffect, useRef, useState } from 'preact/hooks';
import {
	changed,
	go,
	inBlocks,
	useAddress,
	valueOf,
	type Address,
	type Value,
} from '../base/address';
import { showing, useEstimates } from '../base/ask';
import { count, shortCount, size, stateInWords } from '../base/format';
import { Notice, Segments } from '../base/ui';
import { Filters } from '../filters/panel';
import { FleetView } from '../fleet/fleet';
import { Strip } from '../strip/strip';
import { Boundary } from './boundary';
import { baseInWords, Compare } from './compare';
import { Export } from './export';
import { Orders } from '../orders/orders';
import { Logout, RightsContext, useAskedRights } from '../orders/rights';
import { FleetContext, useFleet, useFleetEvents, useStream } from './fleet_state';
import { Inspector } from './inspector';
import { Progress } from './progress';
import { VIEWS, viewOf } from './views';
import type { Stream } from '../api/types';

const VALUES: readonly (readonly [Value, string])[] = [
	['in-use', 'In use'],
	['peak', 'Peak'],
	['allocated', 'Allocated'],
	['leaked', 'Leaked'],
	['temporary', 'Freed'],
];

function Crumbs(props: { address: Address; stream: Stream | undefined }) {
	const { stream } = props;
	return (
		<nav class="crumbs" aria-label="Where you are">
			<a href="#/">Fleet</a>
			{props.address.stream && (
				<>
					{stream?.host && <span>{stream.host}</span>}
					<strong>{stream ? stream.name : props.address.stream.slice(0, 12)}</strong>
					{stream?.pid ? <span class="dim">{stream.pid}</span> : null}
					{stream && <span class={`state ${stream.state}`}>{stateInWords(stream)}</span>}
				</>
			)}
		</nav>
	);
}

function Chips(props: { address: Address }) {
	const { streams } = useFleet();
	const base = props.address.params.get('base');
	return (
		<>
			{base && (
				<span class="chip">
					compared with {baseInWords(base, streams, props.address.stream)}
					<button
						type="button"
						aria-label="Compare no more"
						onClick={() => go({ set: { base: undefined } })}
					>
						×
					</button>
				</span>
			)}
		</>
	);
}

function Bar(props: { address: Address; stream: Stream | undefined }) {
	const { address } = props;
	return (
		<div class="bar">
			<Segments
				label="What is shown"
				options={VALUES}
				chosen={valueOf(address)}
				onChoose={(value) => go({ set: { value, at: undefined } })}
			/>
			<Segments
				label="Counted in"
				options={
					[
						['bytes', 'Bytes'],
						['blocks', 'Blocks'],
					] as const
				}
				chosen={inBlocks(address) ? 'blocks' : 'bytes'}
				onChoose={(weight) =>
					go({ set: { weight: weight === 'blocks' ? weight : undefined } })
				}
			/>
			<Chips address={address} />
			<Filters address={address} stream={props.stream} />
		</div>
	);
}

function Views(props: { address: Address }) {
	const nav = useRef<HTMLElement>(null);
	// In a narrow window they are a row that scrolls: the one that is shown is in sight.
	useEffect(
		() =>
			nav.current
				?.querySelector('[aria-current]')
				?.scrollIntoView({ block: 'nearest', inline: 'center' }),
		[props.address.view],
	);
	return (
		<nav class="views" aria-label="Views" ref={nav}>
			{VIEWS.map((view) => (
				<>
					{view.group && <small>{view.group}</small>}
					<a
						href={changed(props.address, { view: view.name })}
						aria-current={view.name === props.address.view ? 'page' : undefined}
					>
						{view.title}
					</a>
				</>
			))}
		</nav>
	);
}

function Foot(props: { stream: Stream | undefined }) {
	const { connected, streams } = useFleet();
	const { stream } = props;
	return (
		<footer>
			{stream?.events !== undefined && (
				<span>
					{count(stream.events)} events
					{stream.events && stream.recording_bytes
						? ` · ${(stream.recording_bytes / stream.events).toFixed(2)} B each`
						: ''}
				</span>
			)}
			{stream?.state === 'live' && stream.events_per_second !== undefined && (
				<span>{shortCount(stream.events_per_second)} events/s</span>
			)}
			{stream && (
				<span>
					in use {stream.state === 'live' ? 'now' : 'at the end'}:{' '}
					{size(stream.final_allocated)}
				</span>
			)}
			<span class="grow" />
			<Progress />
			{streams && !connected && (
				<span class="lost">The connection to the collector is lost. Trying again…</span>
			)}
		</footer>
	);
}

const NEW_MS = 3000;

/**
 * A snapshot that was taken, or a file that was imported, a moment ago is told of by the
 * collector's next look.
 */
function Missing() {
	const [waited, setWaited] = useState(false);
	useEffect(() => {
		const timer = setTimeout(() => setWaited(true), NEW_MS);
		return () => clearTimeout(timer);
	}, []);
	return (
		<main class="alone">
			{waited ? (
				<Notice title="This collector has no such recording.">
					It may have been removed, or be stored elsewhere. <a href="#/">The fleet</a> has
					those that are here.
				</Notice>
			) : (
				<div class="wait" role="status" aria-label="Looking for the recording" />
			)}
		</main>
	);
}

/** Over the end of the view, where it moves nothing and hides no heading. */
function EstimateNote() {
	const share = useEstimates();
	return share ? (
		<p class="preview" role="status">
			Estimate from one block in {share}; the exact answer is on its way
		</p>
	) : null;
}

function StreamFrame(props: { address: Address }) {
	const { streams } = useFleet();
	const stream = useStream(props.address.stream);
	const View = viewOf(props.address.view);
	const [open, setOpen] = useState(false);

	useEffect(() => {
		document.title = stream ? `${stream.name} ${stream.pid ?? ''} – heapcast` : 'heapcast';
	}, [stream?.name, stream?.pid]);
	showing(stream?.id, stream?.state === 'live' ? 0 : stream?.events);
	if (streams && !stream) return <Missing />;
	return (
		<>
			<Bar address={props.address} stream={stream} />
			{stream?.incomplete && (
				<div class="incomplete" role="note">
					{stream.incomplete}{' '}
					<a href={changed(props.address, { view: 'account' })}>Account</a>
				</div>
			)}
			<Boundary what="The time strip" area="strip">
				<Strip address={props.address} stream={stream} />
			</Boundary>
			<Views address={props.address} />
			<main>
				{stream && (
					<Boundary what="This view" key={props.address.view}>
						<View address={props.address} stream={stream} />
					</Boundary>
				)}
			</main>
			<EstimateNote />
			<Boundary
				what="The inspector"
				area="inspector"
				key={
					`inspector of ${props.address.params.get('picked') ?? ''} ` +
					`${props.address.params.get('site') ?? ''}`
				}
			>
				<Inspector
					address={props.address}
					stream={stream}
					open={open}
					onToggle={() => setOpen(!open)}
				/>
			</Boundary>
			<Foot stream={stream} />
		</>
	);
}

export function Frame() {
	const fleet = useFleetEvents();
	const rights = useAskedRights(fleet.connected);
	const address = useAddress();
	const stream = fleet.streams?.find((s) => address.stream && s.id.startsWith(address.stream));

	return (
		<FleetContext.Provider value={fleet}>
			<RightsContext.Provider value={rights}>
				<div class={address.stream ? 'frame of-stream' : 'frame of-fleet'}>
					<header>
						<a class="brand" href="#/">
							heapcast
						</a>
						<Crumbs address={address} stream={stream} />
						<span class="grow" />
						{stream && (
							<>
								<Orders address={address} stream={stream} />
								<Compare address={address} stream={stream} />
								<Export address={address} stream={stream} />
							</>
						)}
						<Logout />
					</header>
					{address.stream ? (
						<StreamFrame key={address.stream} address={address} />
					) : (
						<Boundary what="The fleet" key="fleet">
							<FleetView address={address} />
						</Boundary>
					)}
				</div>
			</RightsContext.Provider>
		</FleetContext.Provider>
	);
}
