// What is selected: its stack, its numbers, and what can be asked next.
import { changed, type Address } from '../base/address';
import { about, useAnswer } from '../base/ask';
import { baseName } from '../base/format';
import type { Backtrace, Stream } from '../api/types';

function Stack(props: { stream: Stream; backtrace: string }) {
	const { data, error } = useAnswer<Backtrace>(about(props.stream.id, `backtrace/${props.backtrace}`));
	if (error) return <p class="dim">{error.message}</p>;
	if (!data) return null;
	return (
		<ol class="stack">
			{[...data.frames].reverse().map((f) => (
				<li class={f.is_inline ? 'inlined' : ''}>
					{f.function ?? `[${baseName(f.library ?? 'unknown')}]`}{' '}
					<span class="dim">{f.source ? `${baseName(f.source)}:${f.line}` : baseName(f.library ?? '')}</span>
				</li>
			))}
		</ol>
	);
}

export function Inspector(props: { address: Address; stream: Stream | undefined; open: boolean; onToggle: () => void }) {
	const { address, stream } = props;
	const site = address.params.get('site');
	const picked = address.params.get('picked');
	const [name = '', place = '', module = ''] = (site ?? '').split('@');

	return (
		<aside class="inspector" aria-label="What is selected" tabIndex={0}>
			{!site && !picked && <p class="dim">Select a call site, a frame or a moment: what is known of it stands here.</p>}
			{site && stream && (
				<>
					<h2>{name}</h2>
					<p class="dim">
						{place && <code>{place}</code>} {module && `· ${baseName(module)}`}
					</p>
					<h3>Next</h3>
					<ul class="next">
						<li>
							<a href={changed(address, { set: { function_regex: `^${name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$` } })}>Only what passes through it</a>
						</li>
						{module && (
							<li>
								<a href={changed(address, { set: { module } })}>Only what passes through {baseName(module)}</a>
							</li>
						)}
					</ul>
				</>
			)}
			{picked && stream && (
				<>
					<h3>Heaviest stack</h3>
					<Stack stream={stream} backtrace={picked} />
				</>
			)}
		</aside>
	);
}
