// What is selected: its stack, its numbers, and what can be asked next.
import { changed, type Address } from '../base/address';
import { about, useAnswer } from '../base/ask';
import { baseName } from '../base/format';
import { exactly } from '../filters/words';
import { fullNameOf, nameOf, Place, placeOfFrame, StackList } from '../table/frames';
import { useIsHidden } from '../table/hidden';
import type { Backtrace, Stream } from '../api/types';

/** The backtrace that is selected, and what can be asked about it. */
function Selected(props: { address: Address; stream: Stream; backtrace: string }) {
	const { address, backtrace } = props;
	const isHidden = useIsHidden(props.stream.id, address);
	const { data, error } = useAnswer<Backtrace>(about(props.stream.id, `backtrace/${backtrace}`));
	if (error) return <p class="dim">{error.message}</p>;
	if (!data) return null;
	const frames = [...data.frames].reverse();
	const site = frames.find((f) => !isHidden(f)) ?? frames[0];
	const at = site?.source ? site : frames.find((f) => f.source);
	const only = { backtraces: backtrace };
	return (
		<>
			<h2 title={fullNameOf(site)}>{nameOf(site)}</h2>
			<p class="dim">
				<Place address={address} file={site?.source} line={site?.line} />{' '}
				{site?.library && `· ${baseName(site.library)}`}
			</p>
			<h3>Next</h3>
			<ul class="next">
				<li>
					<a href={changed(address, { view: 'allocations', set: only })}>
						Its blocks, one by one
					</a>
				</li>
				<li>
					<a href={changed(address, { set: only })}>Only this backtrace, in all views</a>
				</li>
				{at && (
					<li>
						<a
							href={changed(address, {
								view: 'source',
								set: { file: at.source, line: String(at.line ?? '') },
							})}
						>
							{placeOfFrame(at)} in the source
						</a>
					</li>
				)}
			</ul>
			<h3>Heaviest stack</h3>
			<StackList frames={data.frames} address={address} isHidden={isHidden} />
		</>
	);
}

export function Inspector(props: {
	address: Address;
	stream: Stream | undefined;
	open: boolean;
	onToggle: () => void;
}) {
	const { address, stream } = props;
	const site = address.params.get('site');
	const picked = address.params.get('picked');
	const [name = '', place = '', module = ''] = (site ?? '').split('@');

	return (
		<aside class="inspector" aria-label="What is selected" tabIndex={0}>
			{!site && !picked && (
				<p class="dim">
					Select a call site or a frame: its stack, and what can be asked next, stand
					here.
				</p>
			)}
			{site && stream && (
				<>
					<h2>{name}</h2>
					<p class="dim">
						{place && (
							<Place
								address={address}
								file={place.slice(0, place.lastIndexOf(':'))}
								line={Number(place.slice(place.lastIndexOf(':') + 1))}
							/>
						)}{' '}
						{module && `· ${baseName(module)}`}
					</p>
					<h3>Next</h3>
					<ul class="next">
						<li>
							<a
								href={changed(address, {
									view: 'flame',
									set: { focus: `${name}@${module}` },
								})}
							>
								Its callers and callees
							</a>
						</li>
						<li>
							<a
								href={changed(address, { set: { function_regex: exactly(name) } })}
							>
								Only what passes through it
							</a>
						</li>
						{module && (
							<li>
								<a href={changed(address, { set: { module } })}>
									Only what passes through {baseName(module)}
								</a>
							</li>
						)}
					</ul>
				</>
			)}
			{picked && stream && <Selected address={address} stream={stream} backtrace={picked} />}
		</aside>
	);
}
