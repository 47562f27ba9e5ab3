// Orders to the agent of a live program: start, stop, mode, mark, snapshot. What is refused says
// why, and what to do about it; what can't be undone is asked for once more.
import { useState } from 'preact/hooks';
import { changed, type Address } from '../base/address';
import { about, ask, AskError } from '../base/ask';
import { duration, size } from '../base/format';
import type { Stream } from '../api/types';
import { Dialog } from './dialog';
import { Refused, useRights } from './rights';
import { Snapshot } from './snapshot';
import './orders.css';

interface Done {
	mode: string;
	interval?: number;
	time_ns: number;
	snapshot?: number;
	text?: string;
}

type Order =
	| { action: 'start' | 'stop' | 'snapshot' }
	| { action: 'mode'; mode: string; interval?: number }
	| { action: 'mark'; text: string };

const INTERVALS: readonly (readonly [number, string])[] = [
	[4096, '4 KiB'],
	[65536, '64 KiB'],
	[524288, '512 KiB'],
	[4194304, '4 MiB'],
];

function modeInWords(done: Done): string {
	if (done.mode === 'off') return 'stopped: new blocks are not recorded';
	return done.mode === 'sample'
		? `samples, one allocation in ${size(done.interval ?? 0)}`
		: 'every event is recorded';
}

/** Agents of other hosts take start, stop and mode of who has a key in common with them. */
function HowToPair() {
	return (
		<p>
			Pair the two once, and it does: <code>heapcast pair</code> here prints a code,{' '}
			<code>heapcast agent pair CODE</code> on its host takes it. On that host{' '}
			<code>heapcast agent ctl</code> gives the same orders.
		</p>
	);
}

function Outcome(props: { stream: Stream; address: Address; done?: Done; error?: AskError }) {
	const { done, error } = props;
	if (error)
		return (
			<div class="outcome warn" role="alert">
				<p>Not done: {error.message}</p>
				{error.status === 403 && /own host|key/.test(error.message) && <HowToPair />}
			</div>
		);
	if (!done) return null;
	return (
		<div class="outcome" role="status">
			<p>
				Done
				{done.time_ns > 0 && (
					<>
						{' '}
						at{' '}
						<a
							href={changed(props.address, {
								stream: props.stream.id.slice(0, 12),
								view: 'flame',
								fresh: true,
								set: { value: 'in-use', at: `${done.time_ns / 1e9}s` },
							})}
						>
							{duration(done.time_ns)}
						</a>
					</>
				)}
				{done.snapshot ? `, marker ${done.snapshot}` : ''}. Now: {modeInWords(done)}.
			</p>
			{done.text && <p>{done.text}</p>}
		</div>
	);
}

function Confirm(props: { order: Order; name: string; onYes: () => void; onNo: () => void }) {
	const off =
		props.order.action === 'stop' ||
		(props.order.action === 'mode' && props.order.mode === 'off');
	return (
		<div class="confirm" role="alertdialog" aria-label="Are you sure?">
			<p>
				{off
					? `What ${props.name} allocates until it is started again will be ` +
						'missing in this recording, for good. Blocks that are known already ' +
						'go on being watched.'
					: `Of what ${props.name} allocates from now on only samples are kept: ` +
						`sums become estimates, and what is left out can't be had later.`}
			</p>
			<button
				type="button"
				class="button strong"
				onClick={props.onYes}
				ref={(button) => button?.focus()}
			>
				{off ? 'Stop recording' : 'Take samples'}
			</button>{' '}
			<button type="button" class="button" onClick={props.onNo}>
				Keep on
			</button>
		</div>
	);
}

function Form(props: { stream: Stream; address: Address; may: boolean }) {
	const { stream, may } = props;
	const { again } = useRights();
	const [busy, setBusy] = useState(false);
	const [outcome, setOutcome] = useState<{ done?: Done; error?: AskError }>({});
	const [asked, setAsked] = useState<Order>();
	const [interval, setInterval] = useState(524288);
	const [text, setText] = useState('');

	const give = (order: Order) => {
		setAsked(undefined);
		setBusy(true);
		setOutcome({});
		ask<Done>(about(stream.id, 'control'), { body: order })
			.then(
				(done) => setOutcome({ done }),
				(error: AskError) => {
					setOutcome({ error });
					if (error.status === 401) again();
				},
			)
			.finally(() => setBusy(false));
	};
	const off = !may || busy || asked !== undefined;
	const button = (title: string, order: Order, sure = true) => (
		<button
			type="button"
			class="button"
			disabled={off}
			onClick={() => (sure ? give(order) : setAsked(order))}
		>
			{title}
		</button>
	);
	return (
		<>
			<h3>Recording</h3>
			<div class="row">
				{button('Start', { action: 'start' })}
				{button('Stop', { action: 'stop' }, false)}
			</div>
			<h3>Mode</h3>
			<div class="row">
				{button('Every event', { action: 'mode', mode: 'full' })}
				{button('Samples', { action: 'mode', mode: 'sample', interval }, false)}
				<label>
					one in{' '}
					<select
						disabled={off}
						value={interval}
						onChange={(e) => setInterval(Number(e.currentTarget.value))}
					>
						{INTERVALS.map(([bytes, title]) => (
							<option value={bytes}>{title}</option>
						))}
					</select>
				</label>
			</div>
			<h3>Mark</h3>
			<form
				class="row"
				onSubmit={(event) => {
					event.preventDefault();
					give({ action: 'mark', text });
					setText('');
				}}
			>
				<input
					type="text"
					required
					maxLength={250}
					placeholder="What happens now"
					aria-label="Text of the mark"
					disabled={off}
					value={text}
					onInput={(e) => setText(e.currentTarget.value)}
				/>
				<button type="submit" class="button" disabled={off}>
					Mark
				</button>
				{button('Number this moment', { action: 'snapshot' })}
			</form>
			{asked && (
				<Confirm
					order={asked}
					name={stream.name}
					onYes={() => give(asked)}
					onNo={() => setAsked(undefined)}
				/>
			)}
			{busy && (
				<p role="status" class="dim">
					Waiting for its agent…
				</p>
			)}
			<Outcome stream={stream} address={props.address} {...outcome} />
		</>
	);
}

function why(stream: Stream): string | undefined {
	if (stream.state === 'ended')
		return 'It has ended, or is a file: nothing can be ordered any more.';
	if (stream.state === 'interrupted')
		return (
			'Its agent is not connected, and no collector writes it: nothing can be ordered. ' +
			'If the program still runs, start heapcast gather.'
		);
	return undefined;
}

/** The button, and behind it the window. `small`: in a row of the fleet. */
export function Orders(props: { stream: Stream; address: Address; small?: boolean }) {
	const { stream } = props;
	const { rights } = useRights();
	const [open, setOpen] = useState(false);
	const reason = why(stream);
	return (
		<>
			<button
				type="button"
				class={props.small ? 'button small' : 'button'}
				aria-haspopup="dialog"
				aria-label={
					props.small ? `Orders to ${stream.name} ${stream.pid ?? ''}` : undefined
				}
				title={
					reason ??
					(rights && !rights.orders
						? 'Orders need the token: this says how to give it'
						: undefined)
				}
				onClick={() => setOpen(true)}
			>
				Orders…
			</button>
			{open && (
				<Dialog
					title={`Orders to ${stream.name} ${stream.pid ?? ''}`}
					onClose={() => setOpen(false)}
				>
					{reason && <p role="status">{reason}</p>}
					{!reason && rights && !rights.orders && <Refused />}
					{!reason && (
						<>
							<Form
								stream={stream}
								address={props.address}
								may={rights?.orders ?? false}
							/>
							<h3>Snapshot</h3>
							<Snapshot stream={stream} may={rights?.orders ?? false} />
						</>
					)}
				</Dialog>
			)}
		</>
	);
}
