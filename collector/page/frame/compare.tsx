// With what a recording is compared: another one, or a moment of its own.
import { useState } from 'preact/hooks';
import { go, type Address } from '../base/address';
import { duration, when } from '../base/format';
import { nanoseconds, type Stream } from '../api/types';
import { useFleet } from './fleet_state';
import { Menu } from './menu';

const SHOWN = 12;

/** "ID@TIME" of the address, in words. */
export function baseInWords(base: string, streams: Stream[] | undefined, own: string): string {
	const [id = '', moment] = base.split('@');
	const stream = streams?.find((s) => s.id.startsWith(id));
	const at = moment ? ` at ${duration(parseFloat(moment) * 1e9)}` : '';
	return id === own
		? `itself${at}`
		: `${stream ? `${stream.name} ${stream.pid ?? ''}` : id}${at}`;
}

function Choices(props: { address: Address; stream: Stream; close: () => void }) {
	const { streams } = useFleet();
	const [text, setText] = useState('');
	const { address, stream } = props;
	const at = address.params.get('at');
	const own = stream.id.slice(0, 12);
	const choose = (base: string) => {
		go({ view: address.view === 'flame' ? 'flame' : 'diff', set: { base } });
		props.close();
	};
	const others = (streams ?? [])
		.filter(
			(s) =>
				s.id !== stream.id &&
				`${s.name} ${s.cmdline} ${s.host ?? ''} ${s.pid ?? ''}`
					.toLowerCase()
					.includes(text.toLowerCase()),
		)
		// What is the same program comes first, the latest before.
		.sort(
			(a, b) =>
				Number(b.name === stream.name) - Number(a.name === stream.name) ||
				nanoseconds(b.timestamp) - nanoseconds(a.timestamp),
		);

	return (
		<>
			<p class="dim">What {stream.name} has more or less than:</p>
			{at && (
				<button type="button" class="choice" onClick={() => choose(`${own}@${at}`)}>
					itself at {duration(parseFloat(at) * 1e9)}{' '}
					<span class="dim">the moment that is chosen</span>
				</button>
			)}
			<input
				type="search"
				placeholder="Another recording"
				aria-label="Search for another recording"
				value={text}
				onInput={(e) => setText(e.currentTarget.value)}
			/>
			{others.slice(0, SHOWN).map((s) => (
				<button type="button" class="choice" onClick={() => choose(s.id.slice(0, 12))}>
					{s.name}{' '}
					<span class="dim">
						{[s.pid, s.host, when(nanoseconds(s.timestamp) / 1e6)]
							.filter(Boolean)
							.join(', ')}
					</span>
				</button>
			))}
			{others.length > SHOWN && (
				<p class="dim">… and {others.length - SHOWN} more: search for them.</p>
			)}
			{others.length === 0 && (
				<p class="dim">
					There is no other recording here. Click the time strip to choose a moment of
					this one.
				</p>
			)}
		</>
	);
}

export function Compare(props: { address: Address; stream: Stream }) {
	return (
		<Menu title="Compare…" label="Compare with">
			{(close) => <Choices {...props} close={close} />}
		</Menu>
	);
}
